"""examples/oracle.py answers `fiberscope extract` as a child process and over HTTP.

The environment variable FIBERSCOPE names the command. Run with `pytest test_oracle.py`.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[4]
EXAMPLE = ROOT / "examples" / "oracle.py"
FIBERSCOPE = os.environ.get("FIBERSCOPE")
pytestmark = pytest.mark.skipif(FIBERSCOPE is None, reason="FIBERSCOPE does not name the command")


@pytest.fixture
def model(tmp_path):
    random = np.random.default_rng(3)
    path = tmp_path / "model.npz"
    np.savez(
        path,
        W1=random.normal(size=(4, 3)),
        b1=0.3 * random.normal(size=4),
        W2=random.normal(size=(2, 4)),
        b2=random.normal(size=2),
    )
    return path


def extract(folder, *words, **variables):
    words = [FIBERSCOPE, "extract", "--json", "-o", "found.npz", *map(str, words)]
    done = subprocess.run(words, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_child_process(model, tmp_path):
    code, out, error = extract(tmp_path, "--truth", model, "--", sys.executable, EXAMPLE, model)
    assert code == 0, error
    value = json.loads(out)
    assert value["verdict"] == "verified"
    assert value["max_error"] < 1e-10
    assert np.load(tmp_path / "found.npz")["W1"].shape == (4, 3)


def test_http(model, tmp_path):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "ORACLE_TOKEN": "word"}
    server = subprocess.Popen(
        [sys.executable, EXAMPLE, model, "--http", str(port), "--token-env", "ORACLE_TOKEN"], env=environment
    )
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("localhost", port)) == 0:
                    break
            time.sleep(0.1)
        address = f"http://localhost:{port}/"
        code, _, error = extract(tmp_path, address)
        assert code == 2 and "the token is missing or wrong" in error
        code, out, error = extract(tmp_path, address, "--token-env", "ORACLE_TOKEN", ORACLE_TOKEN="word")
        assert code == 0, error
        assert json.loads(out)["verdict"] == "verified"
    finally:
        server.terminate()
        server.wait()


def test_a_missing_model_is_quoted(tmp_path):
    code, out, error = extract(tmp_path, "--", sys.executable, EXAMPLE, "missing.npz")
    assert (code, out) == (2, "")
    assert "FileNotFoundError" in error
