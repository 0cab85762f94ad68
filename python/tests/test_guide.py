"""The guide: every block of Python in it runs."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, random_network

import fiberscope as fs

GUIDE = (ROOT / "docs/guide/python.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)


@pytest.fixture
def names(tmp_path, monkeypatch) -> dict[str, Any]:
    """What the blocks take for granted: files, networks, arrays, a function."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fs.Explorer, "wait", fs.Explorer.close)
    rng = np.random.default_rng(0)
    net = random_network([2, 3, 1], 1)
    net.save("model.onnx", precision="f64")
    net.save("new.onnx", precision="f64")
    (tmp_path / "old.pt").write_bytes((ROOT / "crates/fiberscope-io/tests/data/pt/f32.pt").read_bytes())
    old = fs.load("old.pt")
    random_network(old.widths, 2).save("new.onnx", precision="f64")
    X = rng.uniform(-1, 1, (40, 2))
    secret = random_network([10, 8, 1], 3)
    return {
        "np": np, "fs": fs, "net": net, "a": net, "b": random_network([2, 3, 1], 4), "other": random_network([2, 3, 1], 5),
        "W1": rng.standard_normal((3, 2)), "b1": rng.standard_normal(3), "W2": rng.standard_normal((1, 3)), "b2": rng.standard_normal(1),
        "X": X, "y": X.max(axis=1), "u": [1.0, 0.0], "v": [0.0, 1.0], "function": secret,
    }  # fmt: skip


@pytest.mark.parametrize("block", BLOCKS, ids=[block.split("\n")[0][:40] for block in BLOCKS])
def test_the_guide_runs(block, names):
    try:
        import torch
    except ImportError:
        if "Tracker" in block:
            pytest.skip("torch is not installed")
        block = "\n".join(line for line in block.split("\n") if "torch" not in line)
    else:
        names["torch"] = torch
        names["module"] = names["model"] = model = torch.nn.Sequential(
            torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1)
        )
        names["optimizer"] = torch.optim.SGD(model.parameters(), lr=0.01)
        names["loader"], names["loss"] = range(3), torch.tensor(0.0)
    try:
        from sklearn.linear_model import LinearRegression
    except ImportError:
        block = "\n".join(line for line in block.split("\n") if "sklearn" not in line)
    else:
        names["pipeline"] = LinearRegression().fit(names["X"], names["y"])
    if "plot" in block or "savefig" in block:
        pytest.importorskip("matplotlib").use("Agg")
    try:
        exec(compile(block, "docs/guide/python.md", "exec"), names)
    except fs.ArgumentError as error:
        if "no explorer page" not in str(error):
            raise
        pytest.skip("the package was built without the explorer")
