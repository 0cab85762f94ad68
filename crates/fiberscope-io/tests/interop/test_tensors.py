"""`fiberscope convert` against numpy, safetensors and torch.

The environment variable FIBERSCOPE names the command. Run with `pytest test_tensors.py`.
"""

import json
import os
import subprocess

import numpy as np
import pytest

FIBERSCOPE = os.environ.get("FIBERSCOPE")
pytestmark = pytest.mark.skipif(FIBERSCOPE is None, reason="FIBERSCOPE does not name the command")

safetensors = pytest.importorskip("safetensors")
from safetensors.numpy import load_file, save_file  # noqa: E402

WIDTHS = [3, 5, 4, 2]


def convert(source, target, *flags):
    done = subprocess.run([FIBERSCOPE, "convert", source, target, *flags], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def same_bits(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    assert a.tobytes() == b.tobytes()


@pytest.fixture
def parameters():
    rng = np.random.default_rng(5)
    pairs = [(rng.normal(size=(m, n)), rng.normal(size=m)) for n, m in zip(WIDTHS, WIDTHS[1:])]
    pairs[0][0][0, :] = [0.0, -0.0, 5e-324]
    return pairs


def write_json(path, parameters, activations=("relu", "relu", "identity")):
    layers = [
        {"weight": w.tolist(), "bias": b.tolist(), "activation": a} for (w, b), a in zip(parameters, activations)
    ]
    path.write_text(json.dumps({"format": "fiberscope-network", "version": 1, "layers": layers}))


def read_json(path):
    layers = json.loads(path.read_text())["layers"]
    return [(np.array(layer["weight"], dtype=float), np.array(layer["bias"], dtype=float)) for layer in layers]


@pytest.mark.parametrize("precision, dtype", [("f64", np.float64), ("f32", np.float32)])
def test_npz_is_what_numpy_reads(tmp_path, parameters, precision, dtype):
    write_json(tmp_path / "net.json", parameters)
    convert(tmp_path / "net.json", tmp_path / "net.npz", "--precision", precision)
    with np.load(tmp_path / "net.npz") as arrays:
        assert sorted(arrays) == ["W1", "W2", "W3", "activations", "b1", "b2", "b3"]
        for layer, (w, b) in enumerate(parameters, 1):
            same_bits(arrays[f"W{layer}"], w.astype(dtype))
            same_bits(arrays[f"b{layer}"], b.astype(dtype))


@pytest.mark.parametrize("precision, dtype", [("f64", np.float64), ("f32", np.float32)])
def test_safetensors_is_what_safetensors_reads(tmp_path, parameters, precision, dtype):
    write_json(tmp_path / "net.json", parameters)
    convert(tmp_path / "net.json", tmp_path / "net.safetensors", "--precision", precision)
    tensors = load_file(tmp_path / "net.safetensors")
    assert sorted(tensors) == sorted(f"{i}.{kind}" for i in (0, 2, 4) for kind in ("weight", "bias"))
    for layer, (w, b) in enumerate(parameters):
        same_bits(tensors[f"{2 * layer}.weight"], w.astype(dtype))
        same_bits(tensors[f"{2 * layer}.bias"], b.astype(dtype))


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_identity_layers_survive(tmp_path, parameters, ending):
    activations = ["identity", "relu", "identity"]
    write_json(tmp_path / "net.json", parameters, activations)
    convert(tmp_path / "net.json", tmp_path / f"net.{ending}")
    if ending == "npz":
        assert np.load(tmp_path / "net.npz")["activations"].tolist() == activations
    convert(tmp_path / f"net.{ending}", tmp_path / "back.json")
    layers = json.loads((tmp_path / "back.json").read_text())["layers"]
    assert [layer["activation"] for layer in layers] == activations


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_files_of_the_libraries_are_read(tmp_path, parameters, ending, dtype):
    parameters = [(w.astype(dtype), b.astype(dtype)) for w, b in parameters]
    named = {k: v for i, (w, b) in enumerate(parameters, 1) for k, v in [(f"W{i}", w), (f"b{i}", b)]}
    if ending == "npz":
        np.savez_compressed(tmp_path / "net.npz", **named)
    else:
        save_file(named, tmp_path / "net.safetensors")
    convert(tmp_path / f"net.{ending}", tmp_path / "back.json")
    for (w, b), (read_w, read_b) in zip(parameters, read_json(tmp_path / "back.json"), strict=True):
        same_bits(read_w, w.astype(np.float64))
        same_bits(read_b, b.astype(np.float64))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_state_dicts_are_read(tmp_path, dtype):
    torch = pytest.importorskip("torch")
    linear = [torch.nn.Linear(n, m, dtype=getattr(torch, dtype)) for n, m in zip(WIDTHS, WIDTHS[1:])]
    net = torch.nn.Sequential(linear[0], torch.nn.ReLU(), linear[1], torch.nn.ReLU(), linear[2])
    torch.save({"epoch": 3, "model_state_dict": net.state_dict()}, tmp_path / "net.pt")
    convert(tmp_path / "net.pt", tmp_path / "net.npz", "--precision", "f64")
    with np.load(tmp_path / "net.npz") as arrays:
        for i, layer in enumerate(linear, 1):
            same_bits(arrays[f"W{i}"], layer.weight.detach().double().numpy())
            same_bits(arrays[f"b{i}"], layer.bias.detach().double().numpy())


def test_a_pickled_module_is_refused(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.nn.Linear(2, 1), tmp_path / "net.pt")
    command = [FIBERSCOPE, "convert", tmp_path / "net.pt", tmp_path / "net.npz"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "holds a whole module" in done.stderr and "torch.onnx.export(model, example_input" in done.stderr
    assert not (tmp_path / "net.npz").exists()
