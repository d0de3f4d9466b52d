"""The house rules, read from the sources: imports run one way, modules stay small, data stay frozen."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("kvbound", "instances", "solvers", "reductions", "checkers", "models")
#: What each layer may import of ours, besides itself.
ALLOWED = {
    "kvbound": {"instances", "solvers", "reductions", "checkers", "models"},
    "instances": {"checkers", "models"},
    "solvers": {"checkers", "models"},
    "reductions": {"checkers", "models"},
    "checkers": {"models"},
    "models": set(),
}
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def module_of(path: Path) -> tuple[str, ...]:
    """Dotted name of the package that holds `path`, as a tuple."""
    parts = path.relative_to(ROOT).parent.parts
    return parts if parts[0] == "kvbound" else ("kvbound", *parts)


def imported(path: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Absolute dotted names of everything that a source imports, lazily or not, with the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            package = module_of(path)
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module or "") if part)
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}"


def layer_of(dotted: str) -> str | None:
    """Layer that a dotted name belongs to; None when it is not ours."""
    parts = dotted.split(".")
    if parts[0] != "kvbound":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in ALLOWED and parts[1] != "kvbound" else "kvbound"


def breaches(layer: str, path: Path, tree: ast.Module) -> list[str]:
    return [
        f"{name(path)}:{line} imports {dotted}"
        for line, dotted in imported(path, tree)
        if (target := layer_of(dotted)) is not None and target != layer and target not in ALLOWED[layer]
    ]


def test_there_is_something_to_check() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in SOURCES} == set(FOLDERS)


def test_imports_run_one_way() -> None:
    found = [b for path, tree in TREES.items() for b in breaches(path.relative_to(ROOT).parts[0], path, tree)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("layer", "source", "caught"),
    [
        ("models", "from kvbound.checkers import check", True),
        ("models", "def f():\n    import kvbound.solvers.bounds", True),
        ("models", "from kvbound import solve", True),
        ("models", "from kvbound.models import Fleet", False),
        ("models", "from . import Fleet", False),
        ("models", "from .. import solvers", True),
        ("checkers", "from kvbound.solvers import deadline", True),
        ("checkers", "import numpy\nfrom kvbound.models import TEL", False),
        ("instances", "from kvbound.solvers import policies", True),
        ("reductions", "from kvbound.instances import load", True),
        ("solvers", "from kvbound import instances", True),
        ("solvers", "from kvbound.checkers import check", False),
        ("kvbound", "from kvbound.solvers import policies", False),
    ],
)
def test_the_import_rule_catches_what_it_should(layer: str, source: str, caught: bool) -> None:
    assert bool(breaches(layer, ROOT / layer / "example.py", ast.parse(source))) is caught


def test_every_package_folder_is_listed_in_pyproject() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        tool = tomllib.load(file)["tool"]["setuptools"]
    folders = {path.parent for path in SOURCES}
    assert sorted(tool["packages"]) == sorted(".".join(module_of(folder / "x.py")) for folder in folders)
    assert tool["package-dir"] == {"kvbound": "kvbound"} | {f"kvbound.{f}": f for f in FOLDERS if f != "kvbound"}
    missing = [name(folder) for folder in folders if not (folder / "__init__.py").exists()]
    assert not missing, f"folders without __init__.py: {missing}"
    assert (ROOT / "kvbound" / "py.typed").exists()


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_module_is_short(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines <= 500, f"{name(path)} has {lines} lines; split it"


def decorators(node: ast.ClassDef) -> Iterator[tuple[str, dict[str, object]]]:
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        target = call.func if call else decorator
        label = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
        yield label, {k.arg or "": ast.literal_eval(k.value) for k in call.keywords} if call else {}


def test_dataclasses_are_frozen_and_slotted() -> None:
    found = [
        f"{name(path)}:{node.lineno} {node.name}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for label, options in decorators(node)
        if label == "dataclass" and not (options.get("frozen") and options.get("slots"))
    ]
    assert not found, "not frozen with slots:\n" + "\n".join(found)


def public(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Public functions and classes of a module."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node


def test_public_functions_and_classes_have_docstrings() -> None:
    found = [
        f"{name(path)}:{node.lineno} {node.name}"
        for path, tree in TREES.items()
        for node in public(tree.body)
        if not ast.get_docstring(node)
    ]
    found += [f"{name(path)}: the module" for path, tree in TREES.items() if tree.body and not ast.get_docstring(tree)]
    assert not found, "without a docstring:\n" + "\n".join(found)


#: Absolute paths of somebody's machine, outside of strings such as /tmp/x in a help text.
MACHINE_PATH = re.compile(r"(?<![\w.:/])/(?:work|home|Users|root|mnt|opt|srv|tmp|data)/\w|[A-Z]:\\\\\w|\.\./shared")
#: Further files that travel with the project.
TEXTS = [
    *SOURCES,
    *(
        path
        for folder in ("benchmarks", "docs")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".md"}
    ),
    *(ROOT / file for file in ("README.md", "pyproject.toml", "Makefile") if (ROOT / file).exists()),
]


def test_no_text_mentions_a_path_of_one_machine() -> None:
    found = [
        f"{name(path)}:{number}: {line.strip()}"
        for path in TEXTS
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]
    assert not found, "\n".join(found)


def test_no_unexplained_blanket_except_and_no_blanket_ignore() -> None:
    """A handler that catches everything says why on its own line."""
    found = []
    for path, tree in TREES.items():
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler) and "#" not in lines[node.lineno - 1]:
                names = [getattr(t, "id", "") for t in ast.walk(node.type)] if node.type else ["BaseException"]
                if {"Exception", "BaseException"} & set(names):
                    found.append(f"{name(path)}:{node.lineno} catches everything")
        for number, line in enumerate(lines, 1):
            if re.search(r"#\s*type:\s*ignore(?!\[)", line):
                found.append(f"{name(path)}:{number} ignores every type error")
    assert not found, "\n".join(found)


def test_docstrings_cite_sections_that_exist() -> None:
    titles = set(
        re.findall(r"^#+ (\d+(?:\.\d+)?)", (ROOT / "docs" / "math.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    found = [
        f"{name(path)}: §{section}"
        for path in SOURCES
        for section in re.findall(r"math\.md[`)]*,? §(\d+(?:\.\d+)?)", path.read_text(encoding="utf-8"))
        if section not in titles
    ]
    assert not found, "\n".join(found)
