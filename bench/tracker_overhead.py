"""What `fs.Tracker` costs: milliseconds per record, and the share of a plain PyTorch loop with a record every 100 steps.

    python bench/tracker_overhead.py

Prints a table. Needs torch and fiberscope. Each number is the median of three runs on one thread.
"""

from __future__ import annotations

import statistics
import time

import torch
from torch import nn

import fiberscope as fs

STEPS, EVERY, BATCH = 500, 100, 32
CASES = [([2, 16, 16, 1], 256), ([8, 10, 10, 10, 10, 1], 768), ([8, 64, 64, 1], 768), ([64, 32, 10], 128)]


def model(widths: list[int]) -> nn.Sequential:
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def run(widths: list[int], points: int, every: int | None, dimension_every: int) -> tuple[float, float]:
    """Seconds of the loop, and milliseconds per record made in it."""
    net = model(widths)
    x = torch.randn(points, widths[0])
    y = x[:, :1].abs().expand(-1, widths[-1])
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    tracker = None if every is None else fs.Tracker(net, x, every, dimension_every=dimension_every, threads=1)
    before = 0.0 if tracker is None else tracker.seconds
    begun = time.perf_counter()
    for step in range(STEPS):
        at = (step * BATCH) % (points - BATCH + 1)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x[at : at + BATCH]), y[at : at + BATCH])
        loss.backward()
        optimizer.step()
        if tracker is not None:
            tracker.step(loss=loss.item())
    seconds = time.perf_counter() - begun
    spent = 0.0 if tracker is None else 1000 * (tracker.seconds - before) / (STEPS // EVERY)
    return seconds, spent


def median(widths: list[int], points: int, every: int | None, dimension_every: int = 1) -> tuple[float, float]:
    runs = [run(widths, points, every, dimension_every) for _ in range(3)]
    return statistics.median(each[0] for each in runs), statistics.median(each[1] for each in runs)


if __name__ == "__main__":
    torch.set_num_threads(1)
    print("| widths | points | step without, ms | record, ms | record without dimension, ms | overhead at every=100 |")
    print("|---|---|---|---|---|---|")
    for widths, points in CASES:
        alone, _ = median(widths, points, None)
        _, full = median(widths, points, EVERY)
        _, light = median(widths, points, EVERY, 0)
        step = 1000 * alone / STEPS
        name = "-".join(map(str, widths))
        print(f"| {name} | {points} | {step:.3f} | {full:.1f} | {light:.1f} | {100 * full / (EVERY * step):.0f} % |")
