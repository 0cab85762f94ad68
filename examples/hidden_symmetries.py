"""What else than scalings keeps a network's function, before and after training, and why?

    python hidden_symmetries.py [WIDTHS [SEEDS [EPOCHS]]]

Trains networks of WIDTHS (3,3,3,2,2,1) from SEEDS seeds (6) for EPOCHS epochs (40) and counts, on all linear regions, how
many dimensions beyond the scalings each mechanism explains.
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np

import fiberscope as fs


def samples(inputs: int, outputs: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).uniform(-2, 2, (200, inputs))
    y = np.stack([np.sin(2 * x[:, 0] + k) + np.abs(x).mean(axis=1) for k in range(outputs)], axis=1)
    return x, y


def counted(networks: list[fs.Network]) -> tuple[Counter[str], int, int]:
    """Dimensions by mechanism, how many networks have any, and how many were not decided."""
    found = [net.hidden_symmetries(ends=False) for net in networks]
    total: Counter[str] = Counter()
    for each in found:
        total.update(each.explained)
    return total, sum(bool(each.gap) for each in found), sum(each.gap is None for each in found)


def main() -> None:
    given = sys.argv[1:] + ["3,3,3,2,2,1", "6", "40"][len(sys.argv) - 1 :]
    widths = [int(width) for width in given[0].split(",")]
    seeds, epochs = int(given[1]), int(given[2])
    x, y = samples(widths[0], widths[-1])
    print(f"networks {'-'.join(map(str, widths))}, {seeds} seeds: dimensions beyond scalings, by mechanism")
    for name, count in [("random", 0), (f"after {epochs} epochs", epochs)]:
        runs = fs.train(x, y, widths=widths, epochs=count, seeds=seeds, every=max(count, 1), dimension=False)
        total, some, open_ = counted([run.network for run in runs])
        parts = ", ".join(f"{mechanism} {n}" for mechanism, n in total.items() if n) or "none"
        print(f"{name}: {sum(total.values())} in {some} networks ({open_} not decided): {parts}")


if __name__ == "__main__":
    main()
