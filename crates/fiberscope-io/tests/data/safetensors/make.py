"""Makes the .safetensors files of this folder and expected.json (see README.md)."""

import json
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_torch

HERE = Path(__file__).parent
rng = np.random.default_rng(2)
expected = {}


def layers(widths, dtype):
    return [
        (rng.normal(size=(m, n)).astype(dtype), rng.normal(size=m).astype(dtype))
        for n, m in zip(widths, widths[1:])
    ]


def bits(array):
    """The entries as doubles, as 16 hexadecimal digits each."""
    return [f"{n:016x}" for n in np.asarray(array, dtype=np.float64).ravel().view(np.uint64).tolist()]


def record(name, precision, network):
    expected[name] = {
        "precision": precision,
        "layers": [{"shape": list(w.shape), "weight": bits(w), "bias": bits(b)} for w, b in network],
    }


def named(network, weight, bias):
    return {k: v for i, (w, b) in enumerate(network) for k, v in [(weight(i), w), (bias(i), b)]}


for dtype in ["float64", "float32", "float16"]:
    name = dtype.replace("loat", "")
    network = layers([3, 4, 2], dtype)
    save_file(named(network, lambda i: f"W{i + 1}", lambda i: f"b{i + 1}"), HERE / f"{name}.safetensors")
    record(f"{name}.safetensors", name, network)

network = [tuple(torch.from_numpy(t).bfloat16() for t in layer) for layer in layers([3, 4, 2], "float32")]
tensors = named(network, lambda i: f"net.fc{i + 1}.weight", lambda i: f"net.fc{i + 1}.bias")
save_torch(tensors, HERE / "bf16.safetensors")
record("bf16.safetensors", "bf16", [tuple(t.double().numpy() for t in layer) for layer in network])

# Seven layers of equal width, so that only the order of the names tells them apart: 0, 2, ..., 10, 12.
network = layers([2] * 8, "float32")
tensors = named(network, lambda i: f"{2 * i}.weight", lambda i: f"{2 * i}.bias")
save_file(tensors, HERE / "natural_order.safetensors", metadata={"format": "np"})
record("natural_order.safetensors", "f32", network)

network = layers([2, 3, 1], "float64")
tensors = named(network, lambda i: f"W{i + 1}", lambda i: f"b{i + 1}")
tensors["b1"] = tensors["b1"].astype(np.float16)
network[0] = (network[0][0], tensors["b1"])
del tensors["b2"]
network[1] = (network[1][0], np.zeros(1))
save_file(tensors, HERE / "mixed.safetensors")
record("mixed.safetensors", "f16", network)

(HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
