"""`ozx rules` as a user meets it."""

from commands import command

from ozx.validation.rules.table import RULES

rules = command("rules")


def test_every_rule_is_a_line(capsys):
    code, out, err = rules(capsys)
    assert (code, err) == (0, "")
    rows = [line.split(maxsplit=2) for line in out.splitlines()]
    assert rows == [[rule.id, rule.severity, rule.title] for rule in RULES.values()]
    assert max(map(len, out.splitlines())) <= 110


def test_every_rule_is_explained(capsys):
    for identifier, rule in RULES.items():
        code, out, _ = rules(capsys, identifier)
        assert code == 0
        words = " ".join(out.split())
        assert words.startswith(f"{rule.id} ({rule.severity}): {rule.title}")
        for text in (rule.clause, rule.meaning, rule.repair, f"({rule.document}, {rule.revision})"):
            assert text in words, identifier
        assert max(map(len, out.splitlines())) <= 100, identifier


def test_an_unknown_rule_is_a_wrong_command_line_with_a_way_out(capsys):
    code, out, err = rules(capsys, "rfc9/rot")
    assert (code, out) == (2, "")
    assert "there is no rule 'rfc9/rot'" in err
    assert "Did you mean rfc9/root" in err
    assert "ozx rules lists all rules" in rules(capsys, "@")[2]
