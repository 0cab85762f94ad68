"""Weight matching of git-re-basin (Ainsworth, Hayase, Srinivasa 2023, Algorithm 1), written from the paper with numpy and
scipy's linear_sum_assignment, beside `fiberscope align`.

    python bench/peers/align.py target/dist/fiberscope --widths 64,512,512,10
    python bench/peers/align.py target/dist/fiberscope --published git-re-basin --published-python venv/bin/python

The second line also runs the published program: a clone of github.com/samuela/git-re-basin, unchanged but for the helper
that it imports, in a Python that has jax (0.4.30) and scipy. Its time is that of the call, without imports; the first
call, which compiles, is not counted.

Two networks are trained from different seeds on scikit-learn's digits. Each program matches the second with the first;
printed are CPU seconds of the process (user and system, best of `--repeat`), the distance of the parameters, and the largest
excess of the cross-entropy on the straight line between the parameters over the line between its ends (the barrier).
"""

from __future__ import annotations

import argparse
import itertools
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
from scipy.optimize import linear_sum_assignment

Layers = list[tuple[np.ndarray, np.ndarray]]


def weight_matching(a: Layers, b: Layers, seed: int = 0, rounds: int = 100) -> Layers:
    """Permutations of the hidden layers of `b`, one layer after the other in random order, until none changes."""
    random = np.random.default_rng(seed)
    hidden = len(a) - 1
    orders = [np.arange(len(bias)) for _, bias in a[:-1]]

    def permuted(layer: int, without: int) -> np.ndarray:
        weight = b[layer][0]
        if layer < hidden and layer != without:
            weight = weight[orders[layer]]
        if layer > 0 and layer - 1 != without:
            weight = weight[:, orders[layer - 1]]
        return weight

    for _ in range(rounds):
        changed = False
        for layer in random.permutation(hidden):
            gain = a[layer][0] @ permuted(layer, layer).T + np.outer(a[layer][1], b[layer][1])
            gain += a[layer + 1][0].T @ permuted(layer + 1, layer)
            before = gain[np.arange(len(gain)), orders[layer]].sum()
            _, order = linear_sum_assignment(gain, maximize=True)
            changed |= gain[np.arange(len(gain)), order].sum() > before + 1e-12
            orders[layer] = order
        if not changed:
            break
    made = []
    for layer, (weight, bias) in enumerate(b):
        if layer > 0:
            weight = weight[:, orders[layer - 1]]
        made.append((weight[orders[layer]], bias[orders[layer]]) if layer < hidden else (weight, bias))
    return made


def forward(layers: Layers, x: np.ndarray) -> np.ndarray:
    for place, (weight, bias) in enumerate(layers):
        x = x @ weight.T + bias
        if place + 1 < len(layers):
            x = np.maximum(x, 0)
    return x


def loss(layers: Layers, x: np.ndarray, y: np.ndarray) -> float:
    logits = forward(layers, x)
    logits = logits - logits.max(axis=1, keepdims=True)
    return float(np.mean(np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(y)), y]))


def barrier(a: Layers, b: Layers, x: np.ndarray, y: np.ndarray, steps: int = 20) -> float:
    ends = loss(a, x, y), loss(b, x, y)
    excess = []
    for t in np.linspace(0, 1, steps + 1):
        mixed = [((1 - t) * p + t * q, (1 - t) * c + t * d) for (p, c), (q, d) in zip(a, b)]
        excess.append(loss(mixed, x, y) - (1 - t) * ends[0] - t * ends[1])
    return max(excess)


def distance(a: Layers, b: Layers) -> float:
    return float(np.sqrt(sum(((p - q) ** 2).sum() + ((c - d) ** 2).sum() for (p, c), (q, d) in zip(a, b))))


def train(widths: list[int], seed: int, epochs: int, x: np.ndarray, y: np.ndarray) -> Layers:
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    modules: list[torch.nn.Module] = []
    for inputs, outputs in itertools.pairwise(widths):
        modules += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    net = torch.nn.Sequential(*modules[:-1])
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4)
    points, classes = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    for _ in range(epochs):
        for batch in torch.randperm(len(points)).split(128):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(points[batch]), classes[batch]).backward()
            optimizer.step()
    linear = [m for m in net if isinstance(m, torch.nn.Linear)]
    return [(m.weight.detach().numpy().astype(float), m.bias.detach().numpy().astype(float)) for m in linear]


def save(path: pathlib.Path, layers: Layers) -> None:
    arrays = {}
    for place, (weight, bias) in enumerate(layers, 1):
        arrays |= {f"W{place}": weight, f"b{place}": bias}
    np.savez(path, **arrays)


def read(path: pathlib.Path) -> Layers:
    with np.load(path) as file:
        return [(file[f"W{k}"], file[f"b{k}"]) for k in range(1, len(file.files) // 2 + 1)]


PUBLISHED = """
import sys, time, types
import numpy as np
from jax import random
import jax.numpy as jnp
folder, first, second, out, repeat = sys.argv[1:]
sys.path.insert(0, folder + "/src")
sys.modules["utils"] = types.SimpleNamespace(rngmix=lambda rng, x: random.fold_in(rng, hash(x)))
from weight_matching import apply_permutation, mlp_permutation_spec, weight_matching
def read(path):
    file = np.load(path)
    names = [("kernel", "W"), ("bias", "b")]
    return {f"Dense_{k}/{name}": jnp.array(file[f"{short}{k + 1}"].T) for k in range(len(file.files) // 2) for name, short in names}
a, b = read(first), read(second)
spec = mlp_permutation_spec(len(a) // 2 - 1)
seconds = []
for turn in range(int(repeat) + 1):
    begun = time.process_time()
    found = weight_matching(random.PRNGKey(0), spec, a, b, silent=True)
    seconds.append(time.process_time() - begun)
made = apply_permutation(spec, found, b)
np.savez(out, **{f"{short}{k + 1}": np.asarray(made[f"Dense_{k}/{name}"]).T.astype(float)
                 for k in range(len(a) // 2) for name, short in [("kernel", "W"), ("bias", "b")]})
print(min(seconds[1:]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--widths", default="64,512,512,10")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--arguments", default="--scaling none --threads 1", help="further arguments of fiberscope align")
    parser.add_argument("--published", help="a clone of github.com/samuela/git-re-basin")
    parser.add_argument("--published-python", default=sys.executable, help="a Python with jax and scipy")
    given = parser.parse_args()
    from sklearn.datasets import load_digits

    digits = load_digits()
    x, y = digits.data / 16, digits.target
    widths = [int(n) for n in given.widths.split(",")]
    a, b = (train(widths, seed, given.epochs, x, y) for seed in (1, 2))
    print(f"{'':24}{'CPU s':>10}{'distance':>12}{'barrier':>12}")
    print(f"{'as trained':24}{'':>10}{distance(a, b):12.4f}{barrier(a, b, x, y):12.4f}")
    seconds = []
    for _ in range(given.repeat):
        begun = time.process_time()
        matched = weight_matching(a, b)
        seconds.append(time.process_time() - begun)
    print(f"{'weight matching (peer)':24}{min(seconds):10.3f}{distance(a, matched):12.4f}{barrier(a, matched, x, y):12.4f}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        save(folder / "a.npz", a)
        save(folder / "b.npz", b)
        if given.published:
            call = [given.published_python, "-c", PUBLISHED, given.published, folder / "a.npz", folder / "b.npz", folder / "p.npz"]
            ran = subprocess.run([*map(str, call), str(given.repeat)], check=True, capture_output=True, text=True)
            found = read(folder / "p.npz")
            print(f"{'git-re-basin as published':26}{float(ran.stdout):8.3f}{distance(a, found):12.4f}{barrier(a, found, x, y):12.4f}")
        seconds = []
        for _ in range(given.repeat):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [given.program, "align", folder / "a.npz", folder / "b.npz", "-o", folder / "c.npz", "-q"]
            subprocess.run([*command, *given.arguments.split()], check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        found = read(folder / "c.npz")
    print(f"{'fiberscope align':24}{min(seconds):10.3f}{distance(a, found):12.4f}{barrier(a, found, x, y):12.4f}")


if __name__ == "__main__":
    sys.exit(main())
