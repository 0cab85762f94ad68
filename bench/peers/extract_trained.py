"""Networks trained on real data, for `fiberscope extract`.

    python bench/peers/extract_trained.py FOLDER

writes one .npz per architecture and seed: the digits of scikit-learn (8 x 8, values from 0 to 1), and the same digits
enlarged to 28 x 28 with a seeded shift and noise. Plain Adam in numpy with fixed seeds; one output is trained as the
question whether the digit is even, ten as its class. Needs numpy and scikit-learn.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

ARCHITECTURES = [
    ([64, 32, 10], 3),
    ([64, 32, 16, 10], 3),
    ([784, 16, 16, 1], 2),
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
        if widths[-1] == 1:
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
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            x = enlarged(images, rng) if widths[0] == 784 else images
            layers = train(widths, x, classes, rng)
            h = x
            for k, (weight, bias) in enumerate(layers):
                h = h @ weight.T + bias
                h = np.maximum(h, 0) if k + 1 < len(layers) else h
            right = (h[:, 0] > 0) == (classes % 2 == 0) if widths[-1] == 1 else h.argmax(1) == classes
            name = "-".join(map(str, widths)) + f"_s{seed}"
            parts = {f"{kind}{k}": part for k, layer in enumerate(layers, 1) for kind, part in zip("Wb", layer)}
            np.savez(folder / f"{name}.npz", **parts)
            print(f"{name}: {100 * right.mean():.1f} % right on what it was trained on")


if __name__ == "__main__":
    main()
