"""Networks trained on real data, for `fiberscope extract`.

    python bench/peers/extract_trained.py FOLDER [ENERGY.csv]

writes one .npz per architecture and seed: the digits of scikit-learn (8 x 8, values from 0 to 1), and the same digits
enlarged to 28 x 28 with a seeded shift and noise. Plain Adam in numpy with fixed seeds; one output is trained as the
question whether the digit is even, ten as its class. With the file of the energy efficiency data (columns X1 to X8, Y1,
Y2) also networks of 8 inputs, scaled to values from 0 to 1, that are trained on the heating load. Needs numpy and
scikit-learn.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

ARCHITECTURES = [
    ([64, 32, 10], 5),
    ([64, 32, 16, 10], 5),
    ([8, 32, 32, 1], 5),
    ([784, 16, 16, 1], 5),
    ([784, 128, 10], 1),
]
STEPS = 600
BATCH = 128


def enlarged(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The 8 x 8 images three times as large, somewhere on 28 x 28, with a little noise."""
    large = np.repeat(np.repeat(images.reshape(-1, 8, 8), 3, 1), 3, 2)
    result = np.zeros((len(images), 28, 28))
    for k, image in enumerate(large):
        i, j = rng.integers(0, 5, 2)
        result[k, i : i + 24, j : j + 24] = image
    return np.clip(result + 0.05 * rng.standard_normal(result.shape), 0, 1).reshape(len(images), -1)


def energy(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs from 0 to 1 and the heating load, of mean 0 and deviation 1."""
    table = np.genfromtxt(path, delimiter=",", skip_header=1)
    x, load = table[:, :8], table[:, 8]
    return (x - x.min(0)) / np.ptp(x, 0), (load - load.mean()) / load.std()


def train(widths: list[int], x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> list[list[np.ndarray]]:
    """Weights and biases after some steps of Adam, from the usual start."""
    layers = [
        [rng.normal(0, np.sqrt(2 / before), (after, before)), np.zeros(after)]
        for before, after in zip(widths, widths[1:])
    ]
    moments = [[np.zeros((2, *part.shape)) for part in layer] for layer in layers]
    for step in range(1, STEPS + 1):
        batch = rng.integers(0, len(x), BATCH)
        values = [x[batch]]
        for k, (weight, bias) in enumerate(layers):
            z = values[-1] @ weight.T + bias
            values.append(np.maximum(z, 0) if k + 1 < len(layers) else z)
        if y.dtype == float:
            back = (values[-1] - y[batch][:, None]) / BATCH
        elif widths[-1] == 1:
            target = (y[batch] % 2 == 0).astype(float)[:, None]
            back = (1 / (1 + np.exp(-values[-1])) - target) / BATCH
        else:
            shares = np.exp(values[-1] - values[-1].max(1, keepdims=True))
            back = (shares / shares.sum(1, keepdims=True) - np.eye(10)[y[batch]]) / BATCH
        for k in range(len(layers) - 1, -1, -1):
            gradients = [back.T @ values[k], back.sum(0)]
            back = (back @ layers[k][0]) * (values[k] > 0)
            for part, gradient, moment in zip(layers[k], gradients, moments[k]):
                moment[0] = 0.9 * moment[0] + 0.1 * gradient
                moment[1] = 0.999 * moment[1] + 0.001 * gradient**2
                mean, square = moment[0] / (1 - 0.9**step), moment[1] / (1 - 0.999**step)
                part -= 3e-3 * mean / (np.sqrt(square) + 1e-8)
    return layers


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    digits = load_digits()
    images, classes = digits.data / 16, digits.target
    for widths, seeds in ARCHITECTURES:
        if widths[0] == 8 and len(sys.argv) < 3:
            continue
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            x, y = energy(sys.argv[2]) if widths[0] == 8 else (images, classes)
            x = enlarged(images, rng) if widths[0] == 784 else x
            layers = train(widths, x, y, rng)
            h = x
            for k, (weight, bias) in enumerate(layers):
                h = h @ weight.T + bias
                h = np.maximum(h, 0) if k + 1 < len(layers) else h
            right = (h[:, 0] > 0) == (y % 2 == 0) if widths[-1] == 1 else h.argmax(1) == y
            name = "-".join(map(str, widths)) + f"_s{seed}"
            parts = {f"{kind}{k}": part for k, layer in enumerate(layers, 1) for kind, part in zip("Wb", layer)}
            np.savez(folder / f"{name}.npz", **parts)
            told = f"{100 * right.mean():.1f} % right"
            if y.dtype == float:
                told = f"mean square error {np.mean((h[:, 0] - y) ** 2):.4f}"
            print(f"{name}: {told} on what it was trained on")


if __name__ == "__main__":
    main()
