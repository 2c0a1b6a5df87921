"""Exit codes of batches."""

from ozx.cli.exit_codes import batch_code


def test_a_batch_with_a_fault_says_so_by_its_code():
    failure = {"message": "", "rule": None, "hint": None}
    assert batch_code([None, None]) == 0
    assert batch_code([None, failure]) == 3
    assert batch_code([failure, failure | {"fault": "TypeError"}, None]) == 70
