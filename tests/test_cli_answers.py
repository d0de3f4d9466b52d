"""The other commands end to end: schedule, check, bound, verify, generate, info, policies, solve."""

from __future__ import annotations

import json
from pathlib import Path

from cli import answer, inline, refusal

from kvbound.solvers.policies import POLICIES

SOURCE = "tiny:n=8,seed=0"


def test_a_schedule_is_written_checked_and_refused_when_tampered_with(tmp_path: Path) -> None:
    file = tmp_path / "svf.json"
    made = answer("schedule", SOURCE, "--policy", "svf", "-o", file)
    assert {"name": "svf", "tel": 521, "file": str(file)}.items() <= made.items()
    assert answer("check", SOURCE, file) | {"ok": True, "tel": 521, "violations": []} == answer("check", SOURCE, file)
    document = json.loads(file.read_text())
    document["starts"][3] = 0
    document["tel"] = None
    file.write_text(json.dumps(document))
    judged = answer("check", SOURCE, file, code=1)
    assert (judged["ok"], judged["tel"]) == (False, None)
    assert {"rule", "request", "step", "amount"} <= judged["violations"][0].keys()
    shown = inline("check", SOURCE, file)
    assert shown.returncode == 1
    assert "its memory is 40" in shown.stdout
    assert "another instance" in refusal("check", "tiny:n=8,seed=1", file)


def test_a_certificate_is_written_verified_and_refused_when_it_claims_more(tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    proved = answer("bound", SOURCE, "--method", "lagrangian", "--certificate", file)
    assert proved["verified"] is True
    assert {"value", "method", "seconds", "verified"} <= proved.keys()
    verified = answer("verify", SOURCE, file)
    assert (verified["ok"], verified["value"]) == (True, proved["value"])
    assert f"{proved['value']:,}" in inline("verify", SOURCE, file).stdout

    document = json.loads(file.read_text())
    greedy = tmp_path / "greedy.json"
    greedy.write_text(json.dumps(document | {"value": proved["value"] + 1}))
    done = inline("verify", SOURCE, greedy)
    assert done.returncode == 1
    assert "prove only" in done.stderr
    assert answer("verify", SOURCE, greedy, code=1)["ok"] is False
    assert inline("verify", "tiny:n=8,seed=1", file).returncode == 1

    negative = tmp_path / "negative.json"
    document["terms"][0]["prices"][0] = -1
    negative.write_text(json.dumps(document))
    assert inline("verify", SOURCE, negative).returncode == 1
    truncated = tmp_path / "truncated.json"
    truncated.write_text(file.read_text()[:100])
    assert "is not JSON" in refusal("verify", SOURCE, truncated)
    assert "no bound certificate" in refusal("verify", SOURCE, _write(tmp_path / "other.json", "{}"))


def _write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_generate_round_trips(tmp_path: Path) -> None:
    file = tmp_path / "tiny.json"
    made = answer("generate", SOURCE, "-o", file)
    again = answer("info", file)
    assert made["instance"]["fingerprint"] == again["instance"]["fingerprint"]


def test_info_says_how_large_the_largest_peak_is() -> None:
    found = answer("info", SOURCE)
    assert found["statistics"]["n"] == 8
    assert found["statistics"]["largest_share"] == 39 / 40
    assert "97.5 % of a worker's memory" in inline("info", SOURCE).stdout


def test_policies_lists_all() -> None:
    assert [policy["name"] for policy in answer("policies")["policies"]] == list(POLICIES)
    shown = inline("policies").stdout
    assert all(name in shown for name in POLICIES)


def test_solve_proves_and_writes_the_optimum(tmp_path: Path) -> None:
    file = tmp_path / "best.json"
    found = answer("solve", SOURCE, "--time-limit", "300", "-o", file)
    assert {"termination", "status", "tel", "bound", "gap", "method", "seconds", "schedule"} <= found.keys()
    assert (found["termination"], found["status"], found["tel"], found["bound"]) == ("optimal", "optimal", 507, 507)
    assert answer("check", SOURCE, file)["tel"] == 507
