"""`kvbound report`: what is read, what is shown, and that nothing of a user reaches the page unescaped."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from cli import answer, inline, refusal
from report_files import NASTY, sweep_file, write_documents

import kvbound
from kvbound.checkers import require_valid
from kvbound.report import read_results
from kvbound.report.data import ratio_of
from kvbound.report.page import render
from kvbound.report.sections import SECTIONS


class Page(HTMLParser):
    """Headings, tables and everything that could load something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.loads: list[str] = []
        self.rows: dict[str, list[list[str]]] = {}
        self._table, self._cell = "", False
        self.scripts = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        have = {key: value or "" for key, value in attrs}
        if "id" in have:
            self.ids.append(have["id"])
        self.scripts += tag == "script"
        for key in ("src", "href", "xlink:href", "srcset", "action", "data"):
            if key in have and not have[key].startswith("#"):
                self.loads.append(have[key])
        if tag == "table":
            self._table = have["id"]
            self.rows[self._table] = []
        elif tag == "tr":
            self.rows[self._table].append([])
        elif tag in ("td", "th"):
            self.rows[self._table][-1].append("")
            self._cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._cell = False

    def handle_data(self, data: str) -> None:
        if self._cell:
            self.rows[self._table][-1][-1] += data

    def column(self, table: str, heading: str) -> list[str]:
        head, *body = self.rows[table]
        place = head.index(heading)
        return [row[place] for row in body]


def test_a_sweep_is_read_as_it_is(tmp_path: Path) -> None:
    path = sweep_file(tmp_path / "r.sqlite")
    results = read_results([path])
    best = results.best_proofs()
    done = [line for line in results.lines if line.status == "done" and line.tel is not None]
    assert {line.method for line in done} == {"fcfs", "svf", "lor"}
    for line in done:  # schedules are what they claim, ratios are against the best verified bound
        assert line.draw is not None
        problem, schedule = line.draw()
        assert require_valid(problem, schedule) == line.tel
        assert line.mean_eel == pytest.approx(line.tel / problem.n)
        bound = max(p.value or 0 for p in results.proofs if p.instance == line.instance and p.verified)
        assert ratio_of(line, best) == line.tel / bound
    assert all(proof.verified and proof.method != "exact search" for proof in best.values())  # a claim is not used
    assert {line.status for line in results.lines} == {"done", "failed", "timeout"}


def test_the_page_of_a_sweep(tmp_path: Path) -> None:
    path = sweep_file(tmp_path / "r.sqlite")
    found = answer("report", path, "-o", tmp_path / "p.html", "--title", NASTY)
    text = (tmp_path / "p.html").read_text(encoding="utf-8")
    page = Page(text)
    assert found == {
        "file": str(tmp_path / "p.html"),
        "instances": 5,
        "results": 15,
        "bounds": 9,
        "version": kvbound.__version__,
    }
    assert {name for name, *_ in SECTIONS} - set(page.ids) == {"front", "prices"}  # nothing to show there
    assert len(page.ids) == len(set(page.ids))
    assert page.column("methods", "method")[:1] == ["svf"]
    assert sorted(page.column("failures", "status")) == ["failed", "timeout"]
    assert "prover's claim" in page.column("proofs", "how")
    assert "✓ certificate verified" in page.column("proofs", "how")
    assert len(page.column("all", "TEL")) == 15


def test_nothing_is_loaded_and_nothing_of_a_user_becomes_markup(tmp_path: Path) -> None:
    folder = tmp_path / "a<b>&"
    folder.mkdir()
    paths = [sweep_file(folder / "r<i>.sqlite"), *write_documents(folder)]
    document = json.loads(paths[1].read_text())
    document["instance"]["name"] = document["instance"]["origin"] = NASTY
    document["policies"][0]["name"] = NASTY
    document["notes"] = [NASTY]
    (folder / "nasty<i>.json").write_text(json.dumps(document))
    text = render(read_results([*paths, folder / "nasty<i>.json"]), title=NASTY, sources=paths)
    page = Page(text)
    assert "alert(" in text
    assert "<script>alert" not in text
    assert "<i>.json" not in text
    assert page.scripts == 1
    assert all(link.startswith("data:") for link in page.loads), page.loads
    assert not re.search(r"url\((?!#)|@import|https?://(?!www\.w3\.org/)", text)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'")


def test_documents_of_commands_come_together(tmp_path: Path) -> None:
    results = read_results(write_documents(tmp_path))
    page = Page(render(results, title="t"))
    assert {name for name, *_ in SECTIONS} - set(page.ids) == {"failed"}
    gap = json.loads((tmp_path / "gap.json").read_text())
    eight = [line for line in results.lines if line.instance == gap["instance"]["fingerprint"]]
    assert [line.tel for line in eight] == [row["tel"] for row in gap["policies"]]
    best = results.best_proofs()
    assert [ratio_of(line, best) for line in eight] == [row["ratio"] for row in gap["policies"]]
    assert sum(proof.instance == gap["instance"]["fingerprint"] for proof in results.proofs) == 2  # gap's and bound's
    route = json.loads((tmp_path / "route.json").read_text())
    routers = [line for line in results.lines if line.kind == "router"]
    assert [ratio_of(line, best) for line in routers] == [1 + row["eel_gap"] for row in route["routers"]]
    assert [line.draw is not None for line in results.lines] == [True, True, False, False, False, False, False]


def test_what_is_missing_is_said_or_left_out(tmp_path: Path) -> None:
    (path,) = write_documents(tmp_path, "plain.json")
    text = render(read_results([path]), title="t")
    assert "--with-schedules" in text
    ids = set(Page(text).ids)
    assert {"by-method", "ratio", "ladder", "results", "origin"} <= ids
    assert not ids & {"front", "prices", "failed"}
    document = json.loads(path.read_text())
    document["bound"] = None
    path.write_text(json.dumps(document))
    page = Page(render(read_results([path]), title="t"))
    assert not {"ratio", "ladder", "certified"} & set(page.ids)
    assert page.column("all", "TEL") != []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "neither a results file nor JSON"),
        ("[1, 2]", "is a JSON list"),
        ('{"a": 1}', "its keys are a"),
        ('{"instance": {}, "policies": []}', "run the command again"),
        ("SQLite format 3\x00", "no results file of kvbound"),
    ],
)
def test_other_files_are_refused_with_a_way_out(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    message = refusal("report", path, "-o", tmp_path / "p.html")
    assert said in message
    assert str(path) in message
    assert not (tmp_path / "p.html").exists()


def test_missing_files_and_folders(tmp_path: Path) -> None:
    assert "No such file" in refusal("report", tmp_path / "no.sqlite", "-o", tmp_path / "p.html")
    (path,) = write_documents(tmp_path, "plain.json")
    assert "does not exist" in refusal("report", path, "-o", tmp_path / "no" / "p.html")
    assert inline("report", path, "-o", tmp_path / "p.html").returncode == 0
