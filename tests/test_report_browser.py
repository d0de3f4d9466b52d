"""A report in a real Chromium: no console error, no request, sorting, phone, paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, find
from report_files import sweep_file, write_documents

from kvbound.report import read_results, write_report

EXECUTABLE = find()
pytestmark = pytest.mark.skipif(
    EXECUTABLE is None, reason="Chromium is not installed (Debian: apt-get install chromium)"
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    files = [sweep_file(folder / "r.sqlite"), *write_documents(folder)]
    write_report(read_results(files), folder / "report.html", sources=files)
    return folder / "report.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert EXECUTABLE is not None
    with Browser(EXECUTABLE) as one:
        yield one


def test_no_console_error_and_no_request(browser: Browser, page: Path) -> None:
    browser.size(1200, 900)
    browser.open(page)
    assert browser.console == []
    asked = [url for url in browser.requests if not url.startswith("data:")]
    assert asked == [page.resolve().as_uri()]
    drawn = "[...document.querySelectorAll('figure svg')].every(s => s.getBoundingClientRect().height > 50)"
    assert browser.run(drawn)
    assert browser.run("document.querySelectorAll('figure svg').length") >= 8


def test_the_harness_would_notice(browser: Browser, tmp_path: Path) -> None:
    """A page that breaks every rule: its errors and requests are seen, so an empty list means something."""
    bad = tmp_path / "bad.html"
    policy = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; script-src 'unsafe-inline'\">"
    bad.write_text(f"{policy}<img src='picture.png'><script>console.error('one'); missing()</script>")
    loose = tmp_path / "loose.html"
    loose.write_text("<img src='picture.png'>")
    browser.open(bad)
    browser.open(loose)
    text = " ".join(browser.console)
    assert "one" in text
    assert "missing is not defined" in text
    assert "Content Security Policy" in text
    assert any(url.endswith("picture.png") for url in browser.requests)
    browser.console.clear()
    browser.requests.clear()


def column(browser: Browser, place: int) -> list[str]:
    found = browser.run(f"[...document.querySelectorAll('#all tbody tr')].map(r => r.cells[{place}].textContent)")
    assert isinstance(found, list)
    return found


def test_tables_sort_by_click_and_by_key(browser: Browser, page: Path) -> None:
    browser.open(page)
    heads = browser.run("[...document.querySelectorAll('#all th')].map(h => h.textContent)")
    tel = heads.index("TEL")
    head = f"document.querySelectorAll('#all th')[{tel}]"
    browser.run(f"{head}.querySelector('button').click()")
    values = [int(text.replace(",", "")) for text in column(browser, tel) if text != "–"]
    assert values == sorted(values)
    assert len(set(values)) > 3
    assert column(browser, tel)[-1] == "–"  # what is missing stays at the end
    assert browser.run(f"{head}.getAttribute('aria-sort')") == "ascending"
    browser.run(f"{head}.querySelector('button').focus()")
    browser.press("Enter", 13)
    values = [int(text.replace(",", "")) for text in column(browser, tel) if text != "–"]
    assert values == sorted(values, reverse=True)
    assert column(browser, tel)[-1] == "–"
    browser.run("document.querySelectorAll('#all th button')[1].click()")
    names = column(browser, 1)
    assert names == sorted(names)
    assert browser.run("document.querySelectorAll('#all th[aria-sort]').length") == 1


def test_rows_are_picked_by_words(browser: Browser, page: Path) -> None:
    browser.open(page)
    fill = "const i = document.getElementById('all-words'); i.value = 'svf n=8'; i.dispatchEvent(new Event('input'))"
    browser.run(fill)
    shown = browser.run(
        "[...document.querySelectorAll('#all tbody tr')].filter(r => !r.hidden).map(r => r.textContent)"
    )
    assert shown
    assert all("svf" in text and "n=8" in text for text in shown)
    assert browser.run("document.getElementById('all-count').textContent").startswith(f"{len(shown)} of ")


def test_a_phone_needs_no_sideways_scrolling(browser: Browser, page: Path) -> None:
    browser.size(390, 844, phone=True)
    browser.open(page)
    wide = "[document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth]"
    assert browser.run(wide) == [390, 390, 390]
    table = "(t => [t.scrollWidth > t.clientWidth, t.clientWidth <= 390])(document.getElementById('all').parentElement)"
    assert browser.run(table) == [True, True]  # the table scrolls in its own container
    assert browser.run("document.getElementById('all').parentElement.tabIndex") == 0  # by keyboard, too
    browser.size(1200, 900)


def test_it_prints(browser: Browser, page: Path) -> None:
    browser.open(page)
    pdf = browser.pdf()
    assert pdf.startswith(b"%PDF-")
    assert 4 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 40
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    browser.call("Emulation.setEmulatedMedia", media="")
    assert browser.console == []
