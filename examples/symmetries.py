"""What symmetries does my trained network have?

python symmetries.py MODEL         # a file: .onnx, .safetensors, .npz, .nnet, .json, .pt, .pth
python symmetries.py               # trains a small network first
"""

from __future__ import annotations

import sys

import numpy as np

import fiberscope as fs


def trained() -> fs.Network:
    """A small network with one hidden layer, fitted to |x| + |y| / 2."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (200, 2))
    y = np.abs(x[:, :1]) + np.abs(x[:, 1:]) / 2
    (run,) = fs.train(x, y, widths=[2, 10, 1], epochs=200, weight_decay=1e-3, dimension=False)
    return run.network


def main(net: fs.Network) -> None:
    found = net.info()
    print(net)
    for layer in found.neurons:
        print(
            f"  layer {layer['layer']}: {layer['dead']} dead, {layer['linear']} linear, {layer['nonlinear']} nonlinear"
        )
    print(f"  identifiable: {found.identifiable} ({found.reason})")

    fiber = net.fiber()
    print("symmetries:")
    for sentence in fiber.symmetries:
        print(f"  {sentence}")
    if not fiber.covered:
        print(
            "the fiber is larger than these symmetries, perhaps: the theory of generic fibers does not cover this network"
        )
        return
    listed = sum(not component["empty"] for component in fiber.components)
    size = "not decided" if fiber.dimension is None else fiber.dimension
    print(f"fiber: dimension {size} modulo permutation and scaling, {listed} non-empty component(s) listed")
    points = fiber.sample(3, seed=1)
    x = np.random.default_rng(1).uniform(-2, 2, (1000, net.widths[0]))
    for point in points:
        moved = max(np.abs(a - b).max() for a, b in zip(net.weights + net.biases, point.weights + point.biases))
        seen = np.abs(net(x) - point(x)).max()
        print(f"  a point of the fiber: parameters moved by {moved:.3g}, outputs by {seen:.1e}")
    print(
        f"  proved: the outputs differ by at most {points.max_difference:.1e} ({points.exact} of {len(points)} exactly equal)"
    )


if __name__ == "__main__":
    main(fs.load(sys.argv[1]) if len(sys.argv) == 2 else trained())
