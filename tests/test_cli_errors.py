"""Bad input, one case each: a message naming file, row and value; exit code 2; no traceback; nothing written.

Ctrl-C and closed pipes end cleanly.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from cli import COMMAND, answer, kvbound, refusal

HEAD = "num_prefill_tokens,num_decode_tokens\n"
#: name: (file name, content, words of the message)
BAD_FILES = {
    "missing column": ("t.csv", "num_prefill_tokens,other\n1,2\n", ["num_decode_tokens"]),
    "negative": ("t.csv", HEAD + "5,3\n-4,3\n", ["line 3", "-4"]),
    "zero output": ("t.csv", HEAD + "5,3\n5,0\n", ["line 3", "0"]),
    "fraction": ("t.csv", HEAD + "5,3.5\n", ["line 2", "3.5"]),
    "huge": ("t.csv", HEAD + "5,99999999999999999999\n", ["line 2", "99999999999999999999"]),
    "nan": ("t.csv", HEAD + "nan,3\n", ["line 2", "nan"]),
    "word": ("t.csv", HEAD + "5,three\n", ["line 2", "three"]),
    "too few fields": ("t.csv", HEAD + "5,3\n5\n", ["line 3"]),
    "larger than memory": ("t.csv", HEAD + "5,3\n90,30\n", ["line 3", "90", "30", "120", "--drop-too-large"]),
    "empty": ("t.csv", "", ["empty"]),
    "header only": ("t.csv", HEAD, ["t.csv"]),
    "truncated JSON": ("t.json", '{"format": "kvbound-instance", "schema_ver', ["t.json"]),
    "unknown format": ("t.txt", "hello world\n", ["t.txt"]),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_bad_file(kind: str, tmp_path: Path) -> None:
    name, content, words = BAD_FILES[kind]
    file = tmp_path / name
    file.write_text(content)
    message = refusal("generate", file, "--memory", "100", "-o", tmp_path / "out.json")
    for word in [name, *words]:
        assert word in message
    assert list(tmp_path.iterdir()) == [file]


def test_legal_oddities_are_read(tmp_path: Path) -> None:
    azure = tmp_path / "a.csv"
    rows = ["2023-11-16 18:15:50.9951690,30,9", "2023-11-16 18:15:46.6805900,20,4", "2023-11-16 18:15:46.6805900,10,5"]
    azure.write_bytes("\r\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *rows]).encode())
    found = answer("schedule", azure, "--policy", "fcfs", "--memory", "40", "--step-seconds", "1")
    assert found["instance"]["n"] == 3
    assert found["schedule"]["start"][0] == 0  # ties keep the order of the file: request 0 is the row (20, 4)
    assert any("sorted" in note for note in found["notes"])


def test_drop_too_large_drops_and_counts(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(BAD_FILES["larger than memory"][1])
    found = answer("info", file, "--memory", "100", "--drop-too-large")
    assert (found["instance"]["n"], found["instance"]["dropped"]) == (1, 1)
    assert any("dropped" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["gap", "tiny:n=8", "--policies", "svg"], ["unknown policy 'svg'", "did you mean 'svf'"]),
        (["gap", "tiny:n=8", "--bound", "lagrangain"], ["unknown bound method", "did you mean 'lagrangian'"]),
        (["gap", "tiny:n=8", "--memory", "0"], ["--memory"]),
        (["gap", "tiny:n=8", "--time-limit", "-1"], ["--time-limit"]),
        (["info", "tiny:n=zero"], ["n", "zero"]),
        (["info", "tyny:n=8"], ["tiny"]),
        (["info", "no/such/file.csv"], ["no/such/file.csv", "no such file"]),
        (["info", "tiny:n=8", "--step-seconds", "nan"], ["step"]),
        (["schedule", "tiny:n=8"], ["--policy"]),
        (["schedule", "tiny:n=8", "--policy", "svf", "-o", "no/such/dir/x.json"], ["no/such/dir", "does not exist"]),
        (["generate", "tiny:n=8", "-o", "."], ["folder"]),
        (["bound", "tiny:n=8", "--certificate", "no/such/dir/x.json"], ["does not exist"]),
        (["verify", "tiny:n=8", "missing.json"], ["missing.json", "no such file"]),
        (["gup"], ["gap"]),
    ],
)
def test_bad_option(args: list[str], words: list[str], tmp_path: Path) -> None:
    message = refusal(*args, cwd=tmp_path)
    for word in words:
        assert word in message
    assert list(tmp_path.iterdir()) == []


def test_the_installed_command_refuses_likewise(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(BAD_FILES["negative"][1])
    done = kvbound("generate", "t.csv", "-o", "out.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "t.csv: line 3" in done.stderr
    assert not (tmp_path / "out.json").exists()


def test_a_bug_of_ours_is_one_line_unless_asked() -> None:
    from kvbound.cli.guard import INTERNAL, exit_code

    assert exit_code(ZeroDivisionError("x")) == INTERNAL


def test_the_reader_of_a_pipe_may_leave() -> None:
    done = subprocess.run(
        f"'{COMMAND}' policies | head -n 1; '{COMMAND}' info tiny:n=8 --json | head -c 5",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == 'Policies\n{"ins'
    assert done.stderr == ""


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_ends_cleanly_with_what_there_is(tmp_path: Path) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text("import pathlib, time\ndef order(view):\n    pathlib.Path('here').touch()\n    time.sleep(60)\n")
    args = [COMMAND, "gap", "tiny:n=8", "--policies", "svf", "--policy-file", "slow.py", "--json"]
    process = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not (tmp_path / "here").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert '"interrupted": true' in out
    assert '"tel": 521' in out or '"name": "svf"' in out


def test_help_needs_no_solver_and_is_quick() -> None:
    done = subprocess.run(
        [Path(COMMAND).with_name("python"), "-X", "importtime", COMMAND, "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Usage: kvbound" in done.stdout
    loaded = {line.split("|")[-1].strip() for line in done.stderr.splitlines() if "|" in line}
    assert not loaded & {"numpy", "numba", "ortools", "pyomo", "highspy", "matplotlib", "pydantic", "networkx"}
    assert kvbound("--version").stdout.startswith("kvbound 0.")
