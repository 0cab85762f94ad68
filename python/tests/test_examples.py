"""The examples run and say what they promise."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from conftest import ROOT

EXPECTED = {
    "prune_and_merge.py": ["permuted: equivalent; certificate checked: True", "and at most", "twin: equivalent"],
    "same_function.py": ["equivalent", "different", "certificate"],
    "smaller.py": ["2-2-4-1 -> 2-2-1", "proved: True", "certificate.json"],
    "symmetries.py": ["symmetries", "fiber"],
    "hidden_symmetries.py": ["random: ", "after 40 epochs: "],
    "functional_dimension.py": ["functional dimension", "trajectory.csv"],
}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_an_example_runs(name, tmp_path):
    if name == "prune_and_merge.py":
        pytest.importorskip("torch")
    environment = os.environ | {"MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name)],
        capture_output=True, text=True, timeout=300, cwd=tmp_path, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for word in EXPECTED[name]:
        assert word in done.stdout, done.stdout
