"""Real engines on this machine: Ray with three nodes, Dask with three worker processes; a worker is killed in the midst of it.

Run by `cargo xtask test cluster`: the answers must be those of one thread, byte by byte.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import fiberscope as fs
from fiberscope import _executor


def random_network(widths: list[int], seed: int) -> fs.Network:
    rng = np.random.default_rng(seed)
    pairs = list(zip(widths[1:], widths))
    return fs.Network([rng.standard_normal(pair) for pair in pairs], [rng.standard_normal(n) for n, _ in pairs])


def told(found) -> str:
    """All that is said, but for how long it took, and the proof."""
    said = {key: value for key, value in found.data.items() if key != "seconds"}
    return json.dumps(said, sort_keys=True) + str(getattr(found, "certificate", None))


def questions(executor) -> list[str]:
    """The questions, each answered by an executor."""
    net = random_network([3, 60, 30, 1], 7)
    a = random_network([3, 10, 8, 2], 1)
    b = fs.Network([weight + 1e-2 for weight in a.weights], a.biases)
    batches = [np.random.default_rng(k).standard_normal((40, 3)) for k in range(4)]
    rows = fs.functional_dimensions([a, b], batches, executor=executor)
    return [
        told(net.regions((-1, 1), count_only=True, executor=executor)),
        told(fs.diff(a, b, box=(-1, 1), gap=0.1, executor=executor)),
        json.dumps([[found.rank for found in row] for row in rows]),
        told(fs.volume([4, 4, 3, 1], samples=3_000_000, executor=executor)),
    ]


def with_a_kill(name: str, executor, victims) -> list[str]:
    """The same while a worker is killed with signal 9."""
    killed: list[int] = []

    def kill() -> None:
        time.sleep(1.0)
        for process in victims():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
            killed.append(process)
            return

    thread = threading.Thread(target=kill)
    thread.start()
    found = questions(executor)
    thread.join()
    assert killed, f"{name}: no worker was killed"
    print(f"{name}: worker {killed[0]} killed in the midst of it")
    return found


def check(name: str, found: list[str], expected: list[str]) -> None:
    for number, (one, other) in enumerate(zip(found, expected)):
        assert one == other, f"{name}, question {number}:\n{one[:300]}\n{other[:300]}"
    print(f"{name}: {len(found)} answers, byte by byte those of one thread")


def dask(expected: list[str]) -> None:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        check("dask", questions(client.get_executor()), expected)
        found = with_a_kill("dask", client.get_executor(), lambda: list(client.run(os.getpid).values()))
        check("dask with a kill", found, expected)


def ray(expected: list[str]) -> None:
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        for _ in range(2):
            cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        assert len([node for node in ray.nodes() if node["Alive"]]) == 3
        executor = fs.RayExecutor()
        check("ray", questions(executor), expected)

        @ray.remote
        def process() -> int:
            time.sleep(0.2)
            return os.getpid()

        workers = ray.get([process.remote() for _ in range(6)])
        check("ray with a kill", with_a_kill("ray", executor, lambda: workers), expected)
    finally:
        ray.shutdown()
        cluster.shutdown()


def main() -> None:
    # So short that counts and searches are sliced.
    _executor.SLICE = 0.2
    _executor.run.__defaults__ = _executor.answer.__defaults__ = (0.2, ())
    with ThreadPoolExecutor(1) as one:
        expected = questions(one)
    net = random_network([3, 60, 30, 1], 7)
    assert expected[0] == told(net.regions((-1, 1), count_only=True, threads=1))
    engines = {"dask": dask, "ray": ray}
    for name in sys.argv[1:] or engines:
        engines[name](expected)


if __name__ == "__main__":
    main()
