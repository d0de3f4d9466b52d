"""Where cells run: joblib's `loky` on this machine, or its backends for a Dask or a Ray cluster."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, no_type_check

from kvbound.models.errors import InputError, OptionError
from kvbound.sweeps.task import Finished, Task, run_task

BACKENDS = ("loky", "dask", "ray")
#: Classes that say that a worker died, by name: their packages are optional.
_BROKE = {"TerminatedWorkerError", "BrokenProcessPool", "BrokenExecutor", "KilledWorker", "WorkerCrashedError"}
_EXTRA = {"dask": "sweep", "ray": "ray"}


@dataclass(frozen=True, slots=True)
class Pool:
    """Workers that are ready.

    Parameters
    ----------
    jobs
        Cells at once.
    streams
        Whether results come one by one; Ray's backend has none before all of a call are there.
    """

    jobs: int
    streams: bool = True

    def run(self, tasks: Iterable[Task]) -> Generator[Finished]:
        """Run tasks, taken one by one as workers become free, and give back each as it ends."""
        from joblib import Parallel, delayed

        calls = (delayed(run_task)(task) for task in tasks)
        # One cell per message: a killed sweep loses the running cells and none that wait in a batch for others.
        options: dict[str, Any] = {"n_jobs": self.jobs, "batch_size": 1, "pre_dispatch": "2*n_jobs"}
        if self.streams:
            yield from Parallel(**options, return_as="generator_unordered")(calls)
            return
        while chunk := list(itertools.islice(calls, 4 * self.jobs)):
            yield from Parallel(**options)(chunk)


def broke(error: BaseException) -> bool:
    """Whether an exception of joblib's says that a worker died."""
    return bool(_BROKE & {kind.__name__ for kind in type(error).__mro__})


@contextmanager
def pool(backend: str, address: str | None, jobs: int | None) -> Iterator[Pool]:
    """Workers of a backend, started if need be and ended afterwards.

    Raises
    ------
    OptionError
        Unknown backend; an address for `loky`; a package that is missing, with the command that installs it.
    InputError
        The cluster cannot be reached.
    """
    if backend not in BACKENDS:
        raise OptionError(f"unknown backend {backend!r}; known: {', '.join(BACKENDS)}")
    if backend == "loky" and address is not None:
        raise OptionError("--address is for clusters; add --backend dask or --backend ray")
    if jobs is not None and jobs < 1:
        raise OptionError(f"jobs is {jobs}; it must be at least 1")
    with ExitStack() as stack:
        try:
            yield {"loky": _loky, "dask": _dask, "ray": _ray}[backend](stack, address, jobs)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in ("dask", "distributed", "ray"):
                raise
            extra = _EXTRA[backend]
            raise OptionError(
                f'the backend {backend} needs the package {error.name}; install it with: pip install "kvbound[{extra}]"'
            ) from None


def _loky(stack: ExitStack, address: str | None, jobs: int | None) -> Pool:
    from joblib import cpu_count, parallel_config

    # A cell has one thread; without this every worker would start one per core for NumPy and numba.
    stack.enter_context(parallel_config(backend="loky", inner_max_num_threads=1))
    return Pool(jobs or cpu_count())


@no_type_check  # distributed has annotations, but none on its constructors
def _dask(stack: ExitStack, address: str | None, jobs: int | None) -> Pool:
    from distributed import Client, LocalCluster
    from joblib import cpu_count, parallel_config

    try:
        if address is None:
            number = jobs or cpu_count()
            cluster = stack.enter_context(LocalCluster(n_workers=number, threads_per_worker=1, dashboard_address=None))
            client = stack.enter_context(Client(cluster))
        else:
            client = stack.enter_context(Client(address, timeout="10s"))
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(f"the Dask cluster {address or 'on this machine'} cannot be reached: {error}") from None
    cores = sum(client.ncores().values())
    if not cores:
        raise InputError(f"the Dask cluster {address} has no worker; start one with: dask worker {address}")
    stack.enter_context(parallel_config(backend="dask"))
    return Pool(min(jobs or cores, cores))


def _ray(stack: ExitStack, address: str | None, jobs: int | None) -> Pool:
    import ray
    from joblib import parallel_config
    from ray.util.joblib import register_ray

    try:
        ray.init(address=address, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(f"the Ray cluster {address or 'on this machine'} cannot be reached: {error}") from None
    stack.callback(ray.shutdown)
    register_ray()
    stack.enter_context(parallel_config(backend="ray"))
    return Pool(jobs or int(ray.cluster_resources().get("CPU", 1)), streams=False)
