"""Write docs/rules.md from the table of rules: ``python docs/make_rules.py``."""

from pathlib import Path

from ozx.validation.rules import rules_markdown

Path(__file__).with_name("rules.md").write_text(rules_markdown(), encoding="utf-8", newline="\n")
