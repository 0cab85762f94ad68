"""Long work on executors: the same answers as without, whoever does the tasks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from conftest import random_network

import fiberscope as fs
from fiberscope import _executor


@pytest.fixture(scope="module")
def pool():
    # Forked children of a process with threads may hang.
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


def told(found) -> dict:
    """All that is said, but for how long it took."""
    return {key: value for key, value in found.data.items() if key != "seconds"}


def test_regions_are_counted_as_without(pool):
    for widths, box in (([2, 12, 8, 1], (-1, 1)), ([3, 8, 5, 1], None), ([1, 9, 5, 1], (-2, 3))):
        net = random_network(widths, 3)
        assert told(net.regions(box, executor=pool)) == told(net.regions(box))
        assert net.regions(box, count_only=True, executor=pool).f_vector == net.regions(box).f_vector


def test_searches_do_not_depend_on_the_executor(pool):
    a = random_network([2, 8, 6, 2], 1)
    b = fs.Network([w + 1e-2 for w in a.weights], a.biases)
    found = [fs.diff(a, b, box=(-1, 1), gap=0.05, executor=each) for each in (pool, ThreadPoolExecutor(1))]
    assert told(found[0]) == told(found[1]) and found[0].certificate == found[1].certificate
    assert fs.check(found[0].certificate, a, b) and found[0]
    alone = fs.diff(a, b, box=(-1, 1), gap=0.05)
    assert found[0].lower <= alone.upper and alone.lower <= found[0].upper
    assert fs.diff(a, b, box=(-1, 1), epsilon=2 * alone.upper, executor=pool).decision == "within"
    assert fs.diff(a, b, box=(-1, 1), epsilon=0.5 * alone.lower, executor=pool).decision == "exceeds"
    assert fs.equiv(a, b, box=(-1, 1), executor=pool).verdict == "different"
    assert fs.equiv("zoo:deep", "zoo:deep-shuffled", executor=pool).verdict == "equivalent"


def test_trainings_end_bit_by_bit_where_they_end_without(pool):
    def train(**where):
        return fs.train(task="f1", widths=[1, 6, 1], epochs=6, every=2, seeds=3, seed=5, **where)

    for alone, apart in zip(train(), train(executor=pool), strict=True):
        assert (alone.seed, alone.records) == (apart.seed, apart.records)
        assert all((a == b).all() for a, b in zip(alone.network.weights, apart.network.weights, strict=True))


def test_surveys_have_the_same_rows(pool):
    question = {"widths": [[2, 2, 1], [3, 3, 2, 1]], "count": 90, "measures": ["identifiable", "dead"], "seed": 7}
    alone, apart = fs.survey(**question), fs.survey(**question, executor=pool)
    assert list(alone) == ["widths", "seed", "identifiable", "dead"] and len(alone["seed"]) == 180
    assert all(np.array_equal(alone[name], apart[name], equal_nan=True) for name in alone)
    assert list(alone["seed"][88:92]) == [95, 96, 7, 8] and list(alone["widths"][88:92]) == [1, 1, 2, 2]
    again = fs.survey([3, 3, 2, 1], 90, "dead", seed=7)
    assert np.array_equal(again["dead"], alone["dead"][90:])
    with pytest.raises(fs.FiberscopeError, match="expected one of identifiable"):
        fs.survey([2, 2, 1], 10, "alive")


def test_experiments_are_run_by_workers(pool, tmp_path):
    for name, size in (("ntk-univariate", {"seeds": 2, "epochs": 4}), ("extraction", {"seeds": 1})):
        alone = fs.reproduce(name, tmp_path / "alone", **size)
        apart = fs.reproduce(name, tmp_path / "apart", executor=pool, **size)
        assert alone.experiments == apart.experiments and apart.page.exists()
    with pytest.raises(fs.FiberscopeError, match="one experiment at a time"):
        fs.reproduce("all", tmp_path, executor=pool)


def test_tables_and_sums(pool):
    nets = [random_network([2, 5, 1], seed) for seed in range(3)]
    batches = [np.random.default_rng(k).standard_normal((6 + k, 2)) for k in range(2)]
    rows = fs.functional_dimensions(nets, batches, executor=pool)
    for net, row in zip(nets, rows):
        for batch, found in zip(batches, row):
            alone = net.functional_dimension(batch)
            assert (found.rank, found.rows, found.bounds) == (alone.rank, alone.rows, alone.bounds)
    assert [[found.rank for found in row] for row in fs.functional_dimensions(nets, batches)] == [
        [found.rank for found in row] for row in rows
    ]
    # Without a GPU `auto` is the processor; tasks take the devices in turn.
    for device in ("auto", ["cpu", "auto"]):
        again = fs.functional_dimensions(nets, batches, device=device, executor=pool)
        assert [[found.rank for found in row] for row in again] == [[found.rank for found in row] for row in rows]
    for device, sentence in (
        ([], "found an empty one"),
        ("gpu", "expected cpu, cuda"),
        (["cpu", "cuda:x"], "expected cpu"),
    ):
        with pytest.raises(fs.FiberscopeError, match=sentence):
            fs.functional_dimensions(nets, batches, device=device)
    assert told(fs.volume([3, 3, 2, 1], samples=5000, executor=pool)) == told(fs.volume([3, 3, 2, 1], samples=5000))


class Counting(Executor):
    """Does tasks at once, and remembers what was sent."""

    def __init__(self) -> None:
        self.plans, self.calls = 0, 0

    def submit(self, fn, /, *args, **kwargs):
        self.calls += 1
        self.plans += args[1] is not None
        future: Future = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future


def test_networks_travel_once_to_a_worker():
    _executor._plans.clear()
    counting = Counting()
    random_network([2, 20, 20, 1], 5).regions((-1, 1), count_only=True, executor=counting)
    assert counting.plans == 1 and counting.calls > 10


class Losing(Counting):
    """Loses every fifth task."""

    def submit(self, fn, /, *args, **kwargs):
        future = super().submit(fn, *args, **kwargs)
        if self.calls % 5 == 0:
            future = Future()
            future.set_exception(RuntimeError("the worker is gone"))
        return future


def test_lost_tasks_are_done_again():
    net = random_network([2, 10, 6, 1], 2)
    assert told(net.regions((-1, 1), executor=Losing())) == told(net.regions((-1, 1)))


class Broken(Executor):
    def submit(self, fn, /, *args, **kwargs):
        future: Future = Future()
        future.set_exception(RuntimeError("no worker at all"))
        return future


def test_what_cannot_work_says_so():
    net = random_network([2, 5, 1], 0)
    with pytest.raises(fs.UndecidedError, match="no worker at all"):
        net.regions((-1, 1), executor=Broken())
    with pytest.raises(fs.ArgumentError, match="expected a concurrent.futures.Executor"):
        net.regions((-1, 1), executor=4)
    with pytest.raises(fs.ArgumentError, match="method and max_regions"):
        net.regions((-1, 1), method="walk", executor=ThreadPoolExecutor(1))
    with pytest.raises(fs.ArgumentError, match="top1"):
        fs.diff(net, net, box=(-1, 1), top1=True, executor=ThreadPoolExecutor(1))
    with pytest.raises(fs.UndecidedError, match="time limit"):
        random_network([6, 60, 60, 1], 0).regions(
            (-1, 1), count_only=True, executor=ThreadPoolExecutor(1), time_limit=1.0
        )


SCRIPT = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import numpy as np, fiberscope as fs
if __name__ == "__main__":
    rng = np.random.default_rng(0)
    widths = [6, 60, 60, 1]
    net = fs.Network([rng.standard_normal(pair) for pair in zip(widths[1:], widths)])
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        print("begun", flush=True)
        try:
            net.regions(box=(-1, 1), count_only=True, executor=pool)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent differently there")
def test_an_interrupt_cancels_what_waits(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "begun\n"
            time.sleep(3)
            os.kill(child.pid, signal.SIGINT)
            out, _ = child.communicate(timeout=120)
        finally:
            child.kill()
    assert out == "interrupted\n" and child.returncode == 0
