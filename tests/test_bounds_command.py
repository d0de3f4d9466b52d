"""`kvbound bound` and `kvbound verify` with every method: JSON, certificate file, tampering."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli import inline

from kvbound.solvers.bounds import METHODS

SOURCE = "tiny:n=8,seed=0"  # its optimum is 507


@pytest.mark.parametrize("method", METHODS)
def test_every_method_writes_a_certificate_that_verifies(method: str, tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    done = inline("bound", SOURCE, "--method", method, "--time-limit", "3", "--certificate", file, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert {"value", "method", "seconds", "verified"} <= answer.keys()
    assert answer["method"] == method
    assert answer["verified"] is True
    assert 0 < answer["value"] <= 507
    again = json.loads(inline("verify", SOURCE, file, "--json").stdout)
    assert (again["ok"], again["value"], again["claimed"]) == (True, answer["value"], answer["value"])

    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, "value": answer["value"] + 1}))
    refused = inline("verify", SOURCE, file, "--json")
    assert refused.returncode == 1
    assert json.loads(refused.stdout)["ok"] is False

    numbers = document["terms"][0]["prices"] if document["terms"] else document.get("multipliers")
    if numbers is None:  # the volume bound has no numbers to change
        assert method == "volume"
        return
    numbers[len(numbers) // 2] += 1
    file.write_text(json.dumps({**document, "value": None}))
    changed = json.loads(inline("verify", SOURCE, file, "--json").stdout)
    assert changed["ok"] is True
    assert changed["value"] <= 507


@pytest.mark.parametrize(("source", "method"), [("jaillet:seed=0", "lp"), ("mix:n=200", "positional")])
def test_a_limit_before_any_answer_is_no_contradiction(source: str, method: str) -> None:
    # HiGHS gets 0.1 s whatever the limit; its first answers take 1.6 s and more than 2 s.
    done = inline("bound", source, "--method", method, "--time-limit", "0.05")
    assert done.returncode == 2
    assert "raise the time limit" in done.stderr
    assert "contradiction" not in done.stderr
