"""Long work: Ctrl-C ends it, other threads run on, progress is shown."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest
from conftest import random_network

import fiberscope as fs

# A process started in the background may ignore interrupts.
SCRIPT = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np, fiberscope as fs
rng = np.random.default_rng(0)
widths = [7, 40, 40, 40, 1]
net = fs.Network([rng.standard_normal(pair) for pair in zip(widths[1:], widths)])
print("begun", flush=True)
try:
    net.regions(box=(-1, 1), count_only=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    print(fs.load("zoo:deep").regions(box=(-1, 1)).regions > 0, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent differently there")
def test_an_interrupt_ends_a_search_and_python_goes_on():
    with subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "begun\n"
            time.sleep(1)
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=60)
        finally:
            child.kill()
    assert out == "interrupted\nTrue\n" and child.returncode == 0


WORK = {
    "regions": "net([7, 40, 40, 40, 1]).regions(box=(-1, 1), count_only=True)",
    "strata": "fs.linear.strata([14] * 6, rank=2, max_strata=10**9)",
    "align": "fs.align(net([700] * 5), net([700] * 5), starts=1000)",
    "reduce": "paired(160).reduce()",
    "canon": "paired(160).canon()",
    "volume": "fs.volume([20, 20, 20, 1], samples=10**12)",
    "conserve": "net([4, 50, 50, 1]).conserve(rng.standard_normal((500, 4)), rng.standard_normal(500), steps=10**6)",
    "train": "fs.train(rng.standard_normal((500, 4)), rng.standard_normal(500), epochs=10**7, every=10**7)",
    "report": "fs.report(net([7, 40, 40, 40, 1]), net([7, 40, 40, 40, 1]), box=(-1, 1), path='no.html')",
    "extract": "fs.extract(net([20, 30, 30, 30, 1]), inputs=20, outputs=1)",
}

# The work is interrupted; then the process must come to rest.
UNSEEN = """
import os, signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np, fiberscope as fs
rng = np.random.default_rng(0)
def net(widths):
    return fs.Network([rng.standard_normal(pair) for pair in zip(widths[1:], widths)])
def paired(n):
    rows = rng.standard_normal((n, n))
    return fs.Network([np.vstack([rows, -rows]), np.hstack([rows, rows + 1])])
threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    {work}
    print("ended by itself")
except KeyboardInterrupt:
    begun = time.monotonic()
    while time.monotonic() < begun + 60:
        before = time.process_time()
        time.sleep(0.5)
        if time.process_time() < before + 0.1:
            print("at rest")
            break
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent differently there")
@pytest.mark.parametrize("name", WORK)
def test_an_interrupt_also_ends_what_nobody_sees(name, tmp_path):
    script = UNSEEN.format(work=WORK[name])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.stdout == "at rest\n", done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []


def test_other_threads_run_while_a_search_does():
    net = random_network([4, 20, 20, 1], 1)
    ticks, done = 0, threading.Event()

    def search():
        net.regions(box=(-1, 1), time_limit=20)
        done.set()

    worker = threading.Thread(target=search)
    worker.start()
    while not done.wait(0.001):
        ticks += 1
    worker.join()
    assert ticks > 0


def test_progress_is_passed_on_and_its_exceptions_end_the_work():
    from fiberscope import _native
    from fiberscope._terms import Terms

    net = random_network([6, 40, 40, 1], 2)
    said = []

    def listen(text):
        said.append(text)
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        _native.regions(net._net, "-1,1", None, True, None, Terms(0, None, 60.0, listen))
    assert len(said) == 1 and "regions" in said[0]


def test_progress_needs_tqdm_only_if_it_is_asked_for(monkeypatch, capsys):
    pytest.importorskip("tqdm")
    fs.load("zoo:deep").regions(box=(-1, 1))
    assert capsys.readouterr().err == ""
    fs.load("zoo:deep").regions(box=(-1, 1), progress=True)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(fs.ArgumentError, match="pip install tqdm"):
        fs.load("zoo:deep").regions(box=(-1, 1), progress=True)
