"""Are these two checkpoints the same function?

    python same_function.py A B        # two files: .onnx, .safetensors, .npz, .nnet, .json, .pt, .pth
    python same_function.py            # two made-up checkpoints

Writes the proof to certificate.json; `fiberscope check certificate.json A B` checks it again.
"""

from __future__ import annotations

import sys

import numpy as np

import fiberscope as fs


def compare(a: fs.Network, b: fs.Network) -> None:
    print(f"A: {a}\nB: {b}")
    largest = max(np.abs(x - y).max() for x, y in zip(a.weights + a.biases, b.weights + b.biases) if x.shape == y.shape)
    print(f"  parameters differ by up to {largest:.3g}")
    found = fs.equiv(a, b)
    print(f"  verdict: {found.verdict} (method: {found.method})")
    if found.witness is not None:
        print(f"  at x = {found.witness.x} A gives {found.witness.a} and B gives {found.witness.b}")
    if found.certificate is not None:
        checked = fs.check(found.certificate, a, b)
        found.certificate.save("certificate.json")
        print(f"  certificate: {checked.reason} (checked: {checked.valid}; wrote certificate.json)")
    if found:
        aligned = fs.align(a, b)
        print(f"  B rewritten to be close to A: distance {aligned.distance_before:.3g} -> {aligned.distance_after:.3g}")


def made_up() -> list[tuple[fs.Network, fs.Network]]:
    """A network and the same with neurons permuted and scaled; and the same with the last layer changed a little."""
    (run,) = fs.train(task="f1", widths=[1, 8, 8, 1], epochs=20, dimension=False)
    twin = run.network.relabel(seed=1)
    weights = twin.weights
    weights[-1] += 1e-3
    return [(run.network, twin), (run.network, fs.Network(weights, twin.biases))]


if __name__ == "__main__":
    pairs = [tuple(map(fs.load, sys.argv[1:3]))] if len(sys.argv) == 3 else made_up()
    for a, b in pairs:
        compare(a, b)
        print()
