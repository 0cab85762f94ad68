"""Files that hold weights and biases only: every answer says what was assumed."""

from __future__ import annotations

import json
import os
import pickle
import subprocess

import numpy as np
import pytest

import fiberscope as fs

FIBERSCOPE = os.environ.get("FIBERSCOPE")
LINE = "activations assumed: ReLU"


@pytest.fixture()
def file(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "net.npz"
    np.savez(path, W1=rng.normal(size=(3, 2)), b1=rng.normal(size=3), W2=rng.normal(size=(1, 3)), b2=rng.normal(size=1))
    return path


def test_every_result_says_it(file, tmp_path):
    net = fs.load(file)
    assert net.assumed_activation == "relu" and any(LINE in note for note in net.notes)
    points = np.zeros((4, 2))
    results = {
        "info": net.info(),
        "reduce": net.reduce(),
        "canon": net.canon(),
        "fiber": net.fiber(),
        "sample": net.fiber().sample(1),
        "contains": net.fiber().contains(net),
        "regions": net.regions(box=(-1, 1)),
        "folds": net.folds(box=(-1, 1)),
        "dimension": net.functional_dimension(points),
        "equiv": fs.equiv("zoo:abs", "zoo:abs"),
        "equiv_file": fs.equiv(net, net.relabel()),
        "diff": fs.diff(net, net.relabel(), box=(-1, 1)),
        "bounds": fs.bounds(file, box=(-1, 1)),
        "align": fs.align(net, net.relabel()),
        "check": fs.check(fs.equiv(net, net).certificate, net, net),
        "report": fs.report(net, path=tmp_path / "report.html"),
    }
    for derived in (
        net.relabel(),
        net.reduce().network,
        net.canon().network,
        fs.align(net, net.relabel()).network,
        fs.merge(net, net.relabel()),
    ):
        results[derived.name] = derived.info()
    results["extract"] = fs.extract(net, net.widths)
    fs.leak_report(net, max_queries=500)
    silent = results.pop("equiv")
    assert "assumed_activation" not in silent.data
    for name, found in results.items():
        assert found.data["assumed_activation"] == "relu", name
        if hasattr(found, "text"):
            assert LINE in found.text, name
    assert LINE in (tmp_path / "report.html").read_text()


def test_it_is_stated_kept_and_lost_where_it_should_be(file, tmp_path):
    stated = fs.load(file, activation="identity")
    assert stated.activations == ["identity", "identity"] and "activations as stated: identity" in stated.info().text
    assert pickle.loads(pickle.dumps(fs.load(file))).assumed_activation == "relu"
    for ending in ("json", "npz", "safetensors", "onnx"):
        fs.load(file).save(tmp_path / f"out.{ending}")
        assert fs.load(tmp_path / f"out.{ending}").assumed_activation is None, ending
    with pytest.raises(fs.ArgumentError, match='expected "relu" or "identity"'):
        fs.load(file, activation="gelu")


@pytest.mark.skipif(FIBERSCOPE is None, reason="FIBERSCOPE does not name the command")
def test_every_command_says_it(file, tmp_path):
    def run(*words):
        return subprocess.run([FIBERSCOPE, *map(str, words)], capture_output=True, text=True, cwd=tmp_path, check=False)

    points = tmp_path / "points.csv"
    points.write_text("0,1\n1,0\n")
    box = ("--box", "-1,1")
    commands = [
        ("info", file), ("equiv", file, "zoo:linear-few"), ("equiv", file, file), ("diff", file, file, *box), ("bounds", file, *box),
        ("reduce", file, "-o", "r.json"), ("canon", file), ("align", file, file, "-o", "a.json"), ("fiber", file),
        ("regions", file, *box), ("folds", file, *box), ("funcdim", file, points), ("convert", file, "c.onnx"),
        ("report", file, "-o", "p.html"), ("fiber", file, "--sample", "1", "-o", "points"),
    ]  # fmt: skip
    for words in commands:
        spoken, data = run(*words), run(*words, "--json")
        if words[:3] == ("equiv", file, "zoo:linear-few") and spoken.returncode == 2:
            continue
        assert spoken.returncode in (0, 1, 3), spoken.stderr
        assert f"{LINE} ({file} holds none" in spoken.stdout, words
        assert json.loads(data.stdout)["assumed_activation"] == "relu", words
    stated = run("info", file, "--activation", "identity")
    assert "activations as stated: identity" in stated.stdout and "identity activation" in stated.stdout
    assert run("info", file, "--activation", "gelu").returncode == 2


@pytest.mark.parametrize(
    "name", ["conv1.weight", "bn1.weight", "attn.weight", "lstm.weight_ih_l0", "0.running_mean", "lora_A.weight"]
)
def test_names_that_betray_something_else_are_refused(name, tmp_path):
    np.savez(tmp_path / "net.npz", **{"fc.weight": np.ones((2, 2)), name: np.ones((2, 2))})
    with pytest.raises(fs.ModelFileError, match=r"torch\.onnx\.export.*fs\.from_torch"):
        fs.load(tmp_path / "net.npz")


def test_a_checkpoint_of_several_networks_says_which_was_read(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    state = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1)).state_dict()
    optimizer = {"state": {}, "param_groups": [{"lr": 0.1}]}
    torch.save({"state_dict": state, "ema": state, "optimizer": optimizer, "epoch": 3}, tmp_path / "two.pt")
    assert "the network is that of entry `state_dict`; `ema` passed over" in fs.load(tmp_path / "two.pt").notes
    torch.save({"model": state, "optimizer": optimizer}, tmp_path / "one.pt")
    assert not any("passed over" in note for note in fs.load(tmp_path / "one.pt").notes)


def test_plain_sequentials_with_more_than_linear_layers(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    nn = torch.nn
    torch.manual_seed(0)
    for module, shape in [
        (nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.1), nn.Linear(4, 2)), (3,)),
        (nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.BatchNorm1d(4), nn.Linear(4, 2)), (3,)),
        (
            nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(50, 2)),
            (1, 5, 5),
        ),
        (
            nn.Sequential(nn.Conv1d(1, 2, 3), nn.ReLU(), nn.Conv1d(2, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 2)),
            (1, 12),
        ),
    ]:
        for each in module.modules():
            if isinstance(each, nn.modules.batchnorm._BatchNorm):
                each.running_mean.uniform_(-1, 1)
                each.running_var.uniform_(0.5, 2)
        module.eval()
        torch.save(module.state_dict(), tmp_path / "net.pt")
        net = fs.load(tmp_path / "net.pt", shapes={"input": (1, *shape)} if len(shape) > 1 else None)
        x = torch.randn(20, *shape)
        with torch.no_grad():
            assert np.allclose(net(x.flatten(1).numpy()), module(x).numpy(), atol=1e-5)
        assert net.assumed_activation == "relu" and net.precision == "f32"
