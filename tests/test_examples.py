"""The scripts of examples/ run as they stand there and leave what they promise."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from cli import answer

from kvbound.checkers import require_valid
from kvbound.instances.adversarial.record import read_record

ROOT = Path(__file__).resolve().parent.parent
#: Script -> files that it leaves.
SCRIPTS = {
    "my_scheduler_gap.py": ("requests.csv", "schedule.json", "proof.json"),
    "pareto_front.py": ("front.svg",),
    "adversarial_instance.py": ("record.json", "why.svg"),
}


def run(script: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / script, folder],
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_NUM_THREADS": "1"},
        cwd=folder,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_script_is_run_here_and_is_short() -> None:
    scripts = {path.name: path for path in (ROOT / "examples").glob("*.py")}
    assert scripts.keys() == SCRIPTS.keys()
    assert all(len(path.read_text(encoding="utf-8").splitlines()) <= 65 for path in scripts.values())


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_leaves_what_it_promises(script: str, tmp_path: Path) -> None:
    printed = run(script, tmp_path)
    for name in SCRIPTS[script]:
        assert (tmp_path / name).stat().st_size > 0
    if script == "my_scheduler_gap.py":  # others can check it without the script
        memory = ("--memory", "4000")
        judged = answer("check", "requests.csv", "schedule.json", *memory, cwd=tmp_path)
        proved = answer("verify", "requests.csv", "proof.json", *memory, cwd=tmp_path)
        assert f"{judged['tel']:,}" in printed
        assert f"{proved['value']:,}" in printed
        assert proved["value"] < judged["tel"]
    if script == "pareto_front.py":
        assert "on the front" in printed
    if script == "adversarial_instance.py":
        record = read_record(tmp_path / "record.json")
        tels = [require_valid(record.problem, s.schedule) for s in (record.policy, record.reference.schedule) if s]
        assert tels == [record.policy_tel, record.reference.value]
        assert record.value == Fraction(*tels) > 1
        assert f"TEL {tels[0]} against {tels[1]}" in printed
