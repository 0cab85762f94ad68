"""What the tests share."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import fiberscope as fs

ROOT = Path(__file__).resolve().parents[2]
# Run by `cargo xtask test cluster`, with the packages of cluster-requirements.txt.
collect_ignore = ["cluster.py", "scale_files.py"]


def random_network(widths: list[int], seed: int, dtype: type = np.float64) -> fs.Network:
    rng = np.random.default_rng(seed)
    pairs = list(zip(widths[1:], widths))
    weights = [rng.standard_normal(pair).astype(dtype) for pair in pairs]
    return fs.Network(weights, [rng.standard_normal(n).astype(dtype) for n, _ in pairs])


def slow(net: fs.Network, x: np.ndarray) -> np.ndarray:
    """The definition, with numpy."""
    for weight, bias, activation in zip(net.weights, net.biases, net.activations):
        x = x @ weight.T + bias
        x = np.maximum(x, 0) if activation == "relu" else x
    return x


@pytest.fixture
def command():
    """Runs the command with --json and returns its object."""
    binary = os.environ.get("FIBERSCOPE")
    if not binary:
        pytest.skip("FIBERSCOPE does not name the command")

    def run(*arguments: str) -> dict:
        done = subprocess.run([binary, *arguments, "--json"], capture_output=True, text=True, timeout=300)
        assert done.returncode in (0, 1, 3), done.stderr
        return json.loads(done.stdout)

    return run
