"""Policies of users: a Python file with a function ``order(view)``, or an entry point ``kvbound.schedulers``.

User code may raise anything, print anything and return anything; whatever it does becomes one message that
names the file, the line and what happened.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from kvbound.models.errors import InputError, OptionError
from kvbound.solvers.policies import POLICIES, Declined, Policy, View, custom_policy, resolve
from kvbound.solvers.policies.run import permutation

GROUP = "kvbound.schedulers"


def policy_from_file(path: Path) -> Policy:
    """Return the policy that the function ``order(view)`` of a Python file defines; its name is the file's stem.

    Raises
    ------
    InputError
        The file cannot be read or run, or has no function `order`.
    """
    try:
        code = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    return policy_from_code(code, path)


def policy_from_code(code: str, path: Path) -> Policy:
    """Return the policy in the text of a policy file; `path` is for its name and for messages (`InputError`)."""
    scope: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    _call(path, lambda: exec(compile(code, str(path), "exec"), scope))
    function = scope.get("order")
    if not callable(function):
        raise InputError(f"{path}: defines no function order(view); see 'Your own policy' in the README")
    return _guarded(path.stem, path, function)


def installed() -> dict[str, EntryPoint]:
    """Policies that other installed packages offer in the entry point group `kvbound.schedulers`, by name."""
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in POLICIES}


def policies(names: Sequence[str], files: Sequence[Path] = ()) -> list[Policy]:
    """Return the policies named (built-in, `all`, or installed), then those of `files`.

    Raises
    ------
    OptionError
        A name is unknown (the nearest is suggested), or two policies have the same name.
    """
    plugins = installed()
    chosen: list[Policy] = []
    for name in names:
        found = [_plugin(plugins[name])] if name in plugins else resolve([name])
        chosen += [policy for policy in found if policy.name not in {p.name for p in chosen}]
    for path in files:
        policy = policy_from_file(path)
        if policy.name in {p.name for p in chosen}:
            raise OptionError(f"{path}: the name {policy.name!r} is taken by another policy; rename the file")
        chosen.append(policy)
    return chosen


def _plugin(point: EntryPoint) -> Policy:
    where = Path(point.value)
    return _guarded(point.name, where, _call(where, point.load))


def _guarded(name: str, path: Path, function: Callable[[View], Any]) -> Policy:
    def order(view: View) -> Any:
        result = _call(path, lambda: function(view))
        line = getattr(getattr(function, "__code__", None), "co_firstlineno", None)
        where = f"{path}:{line}" if line else str(path)
        return permutation(result, len(view), f"{where}: {getattr(function, '__name__', 'order')}(view)")

    return custom_policy(name, order, source=str(path))


def _call(path: Path, action: Callable[[], Any]) -> Any:
    """Run user code; its prints go to stderr (stdout is ours), its errors become `InputError`."""
    try:
        with redirect_stdout(sys.stderr):
            return action()
    except Declined:
        raise
    except SyntaxError as error:
        raise InputError(f"{error.filename or path}:{error.lineno}: {type(error).__name__}: {error.msg}") from None
    except (Exception, SystemExit) as error:  # user code may raise anything; BaseException stays for Ctrl-C
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        where = f"{path}:{frames[-1].lineno}" if frames else str(path)
        raise InputError(f"{where}: {type(error).__name__}: {error}") from error
