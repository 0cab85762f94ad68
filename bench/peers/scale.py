"""What a task costs in a process pool, on Dask and on Ray: a sample of draws, cut into few and into many tasks, by `executor=`.

Run by `cargo xtask bench scale`; prints a Markdown table. Engines that are not installed are named and left out.
"""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

try:
    import fiberscope as fs
    from fiberscope import _executor
except ImportError:
    print("Engines: not measured, the package fiberscope is not installed for this Python (`pip install` its wheel, and `python/tests/cluster-requirements.txt` for Dask and Ray).")
    raise SystemExit from None

FEW, MANY = 16, 1040
# Draws are cut into blocks of 1,024, of which a task has at least one.
DRAWS = MANY * 1024


class Counting:
    """An executor that counts what it is given."""

    def __init__(self, executor: Any) -> None:
        self.executor, self.count = executor, 0

    def submit(self, *arguments: Any) -> Any:
        self.count += 1
        return self.executor.submit(*arguments)


@contextmanager
def pool() -> Any:
    with ProcessPoolExecutor(2) as executor:
        yield executor


@contextmanager
def dask() -> Any:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client.get_executor()


@contextmanager
def ray() -> Any:
    import ray as engine

    engine.init(num_cpus=2, include_dashboard=False, configure_logging=False, log_to_driver=False)
    try:
        yield fs.RayExecutor(num_cpus=1)
    finally:
        engine.shutdown()


def seconds(executor: Any, tasks: int) -> float:
    """The best of three: the same draws in so many tasks."""
    _executor.TASKS = tasks
    times = []
    for _ in range(3):
        counting = Counting(executor)
        start = time.perf_counter()
        fs.volume([3, 3, 2, 1], samples=DRAWS, executor=counting)
        times.append(time.perf_counter() - start)
        if counting.count < tasks:
            raise SystemExit(f"expected {tasks} tasks, found {counting.count}")
    return min(times)


def main() -> None:
    print("The same small question in few and in many tasks, two workers, wall time, best of three:\n")
    print(f"| engine | {FEW} tasks | {MANY} tasks | per task |\n|---|---:|---:|---:|")
    for name, engine in [("process pool", pool), ("Dask", dask), ("Ray", ray)]:
        try:
            with engine() as executor:
                seconds(executor, FEW)
                few, many = seconds(executor, FEW), seconds(executor, MANY)
        except ImportError as error:
            print(f"| {name} | not installed ({error.name}) | | |")
            continue
        print(f"| {name} | {few:.3f} s | {many:.3f} s | {1e3 * (many - few) / (MANY - FEW):.2f} ms |")
    print()


if __name__ == "__main__":
    main()
