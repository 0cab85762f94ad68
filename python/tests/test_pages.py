"""Reports, the tour, the experiments and the explorer from Python; and the command that comes with the package."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
from conftest import random_network

import fiberscope as fs


def test_a_report_is_that_of_the_command(tmp_path, command):
    x = np.random.default_rng(0).uniform(-1, 1, (20, 2))
    np.save(tmp_path / "x.npy", x)
    ours = fs.report("zoo:deep", "zoo:deep-shuffled", path=tmp_path / "ours.html", data=tmp_path / "x.npy", box=(-1, 1))
    other = tmp_path / "theirs.html"
    arguments = ["--data", str(tmp_path / "x.npy"), "--box", "-1,1", "-o", str(other)]
    theirs = command("report", "zoo:deep", "zoo:deep-shuffled", *arguments)
    assert ours.verdict == theirs["verdict"] == "equivalent" and ours.claims == theirs["claims"]
    # The page names where the points come from.
    page = other.read_text().replace(str(tmp_path / "x.npy"), "an array")
    assert ours.report.read_text() == page and "functional dimension" in ours.text


def test_reports_tell_networks_without_names_apart(tmp_path):
    a, b = random_network([2, 3, 1], 1), random_network([2, 3, 1], 2)
    made = fs.report(a, b, path=tmp_path / "report.html")
    assert made.verdict == "different" and f"{a.name} (A)" in made.text and f"{b.name} (B)" in made.text


def test_a_network_with_one_input_is_drawn(tmp_path):
    page = fs.report("zoo:tent", path=tmp_path / "tent.html").report.read_text()
    assert "Points are where it bends" in page and page.count("<figure") == fs.report(
        "zoo:deep", path=tmp_path / "deep.html"
    ).report.read_text().count("<figure")


def test_bad_input_writes_no_page(tmp_path):
    path = tmp_path / "report.html"
    for wrong in [
        lambda: fs.report("zoo:deep", "zoo:tent", path=path),
        lambda: fs.report("zoo:deep", path=path, data=np.zeros((3, 5))),
        lambda: fs.report("zoo:deep", path=path, box=[(0, 1)] * 3),
        lambda: fs.reproduce("no-such-experiment", tmp_path),
        lambda: fs.reproduce("ntk-init", tmp_path, seeds=0),
        lambda: fs.explore("zoo:deep", port=70000),
        lambda: fs.explore("zoo:deep", address="here"),
        lambda: fs.leak_report("zoo:deep", domain=(1, -1)),
    ]:
        with pytest.raises(fs.ArgumentError):
            wrong()
    with pytest.raises(FileNotFoundError):
        fs.tour(tmp_path / "no" / "such" / "folder" / "tour.html")
    assert list(tmp_path.iterdir()) == []


def test_leaks_are_those_of_the_command(command):
    ours = fs.leak_report("zoo:duplicate-merged", seed=3)
    assert ours.to_dict() == command("extract", "zoo:duplicate-merged", "--leak-report", "--seed", "3")


@pytest.fixture
def explorer():
    try:
        return fs.explore("zoo:hiding-two")
    except fs.ArgumentError as error:
        pytest.skip(str(error))


def test_the_explorer_is_served_until_it_is_closed(explorer):
    with explorer:
        page = urllib.request.urlopen(explorer.url).read().decode()
        assert "zoo:hiding-two" in page and explorer.url in explorer._repr_html_()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"http://127.0.0.1:{explorer.port}/")
        with pytest.raises(fs.ArgumentError, match="in use"):
            fs.explore(port=explorer.port)
    assert explorer.closed
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(explorer.url, timeout=1)
        except OSError:
            return
        time.sleep(0.05)
    pytest.fail("the page is still served")


def test_the_explorer_is_a_file(explorer, tmp_path):
    explorer.close()
    path = fs.explore("zoo:tent", path=tmp_path / "tent.html")
    assert "zoo:tent" in path.read_text()


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "fiberscope", *arguments], capture_output=True, text=True, timeout=300)


def test_the_package_has_the_command():
    same = run("equiv", "zoo:deep", "zoo:deep-shuffled")
    assert (same.returncode, same.stdout[:10]) == (0, "equivalent")
    assert run("equiv", "zoo:hiding-two", "zoo:hiding-two-too-far").returncode == 1
    wrong = run("info", "no-such-file.onnx")
    assert wrong.returncode == 2 and "no-such-file.onnx" in wrong.stderr and "Traceback" not in wrong.stderr
    assert run("--help").stdout.startswith("Answers, with proof")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent differently there")
def test_an_interrupt_ends_the_command():
    arguments = ["volume", "--widths", "20,20,20,1", "--samples", "1000000000000"]
    with subprocess.Popen([sys.executable, "-m", "fiberscope", *arguments], stderr=subprocess.PIPE) as child:
        try:
            time.sleep(2)
            assert child.poll() is None
            child.send_signal(signal.SIGINT)
            # What was found until then is handed over.
            assert child.wait(timeout=20) in (0, 3)
        finally:
            child.kill()
