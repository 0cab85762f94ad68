"""Makes the .npz and .npy files of this folder and expected.json (see README.md)."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
rng = np.random.default_rng(3)
expected = {}


def layers(widths, dtype):
    return [
        (rng.normal(size=(m, n)).astype(dtype), rng.normal(size=m).astype(dtype))
        for n, m in zip(widths, widths[1:])
    ]


def bits(array):
    """The entries as doubles, as 16 hexadecimal digits each."""
    return [f"{n:016x}" for n in np.ascontiguousarray(array, dtype=np.float64).ravel().view(np.uint64).tolist()]


def record(name, precision, network):
    expected[name] = {
        "precision": precision,
        "layers": [{"shape": list(w.shape), "weight": bits(w), "bias": bits(b)} for w, b in network],
    }


def named(network):
    return {k: v for i, (w, b) in enumerate(network, 1) for k, v in [(f"W{i}", w), (f"b{i}", b)]}


network = layers([3, 4, 2], "<f8")
np.savez(HERE / "f64.npz", **named(network))
record("f64.npz", "f64", network)

network = layers([3, 4, 2], "<f4")
np.savez_compressed(HERE / "f32_compressed.npz", **named(network))
record("f32_compressed.npz", "f32", network)

network = layers([3, 4, 2], ">f2")
np.savez(HERE / "f16_big_endian.npz", **named(network))
record("f16_big_endian.npz", "f16", network)

network = layers([3, 4, 2], ">f8")
network = [(np.asfortranarray(w), b) for w, b in network]
np.savez(HERE / "fortran_order.npz", **named(network))
record("fortran_order.npz", "f64", network)

network = [(np.array([[1, -1], [2, 0]]), np.array([0, 1], dtype=np.int8)), (np.array([[1, -3]]), np.array([5]))]
np.savez(HERE / "integers.npz", **named(network))
record("integers.npz", "f64", network)

# Twelve layers, named as PyTorch names them, stored in the order of the alphabet.
network = layers([2] * 13, "<f4")
tensors = {f"net.{2 * i}.{k}": v for i, (w, b) in enumerate(network) for k, v in [("weight", w), ("bias", b)]}
np.savez(HERE / "torch_names.npz", **dict(sorted(tensors.items())))
record("torch_names.npz", "f32", network)

network = layers([3, 2, 2, 1], "<f8")
np.savez(HERE / "activations.npz", activations=np.array(["identity", "relu", "identity"]), **named(network))
record("activations.npz", "f64", network)

# Versions 2 and 3 of the npy format inside.
network = layers([2, 1], "<f8")
with zipfile.ZipFile(HERE / "versions.npz", "w") as archive:
    for (key, array), version in zip(named(network).items(), [(2, 0), (3, 0)]):
        stream = io.BytesIO()
        np.lib.format.write_array(stream, array, version=version)
        archive.writestr(f"{key}.npy", stream.getvalue())
record("versions.npz", "f64", network)

np.savez(HERE / "objects.npz", W1=np.array([[None]], dtype=object))

for name, array in {
    "data_f64": rng.normal(size=(5, 3)),
    "data_fortran": np.asfortranarray(rng.normal(size=(4, 2)).astype("<f4")),
    "data_vector": rng.normal(size=6),
    "data_int64": np.array([[1, -2], [3, 4]]),
    "data_uint8": np.array([[0, 255]], dtype=np.uint8),
    "data_int16_big_endian": np.array([[-300, 300]], dtype=">i2"),
    "data_bool": np.array([[True, False], [False, True]]),
}.items():
    np.save(HERE / f"{name}.npy", array)
    shape = list(array.shape) + [1] * (2 - array.ndim)
    expected[f"{name}.npy"] = {"shape": shape, "entries": bits(array)}

X = rng.normal(size=(3, 2))
np.savez_compressed(HERE / "data_two.npz", y=np.zeros(3), X=X)
np.savez(HERE / "data_one.npz", points=X)
for name in ["data_two.npz", "data_one.npz"]:
    expected[name] = {"shape": [3, 2], "entries": bits(X)}

(HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
