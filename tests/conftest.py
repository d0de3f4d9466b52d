"""What every test may rely on."""

from __future__ import annotations

import signal

import pytest


@pytest.fixture(scope="session")
def compiled_bounds() -> None:
    """Every kernel of the bounds is there: after installation compiling them takes longer than a test's deadline."""
    from kvbound.solvers.bounds import prepare

    prepare()


def pytest_configure(config: pytest.Config) -> None:
    """Ctrl-C arrives: a shell that starts a command in the background lets it, and all it starts, ignore SIGINT."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
