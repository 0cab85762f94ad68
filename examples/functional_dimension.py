"""Functional dimension during training: how many independent directions of the parameters change the outputs?

    python functional_dimension.py

Trains a PyTorch module and watches it with `fs.Tracker`; without PyTorch fiberscope's own trainer takes its place. Writes
trajectory.csv and, with matplotlib, trajectory.png.
"""

from __future__ import annotations

import csv
from typing import Any

import numpy as np

import fiberscope as fs

STEPS, EVERY = 600, 50


def samples() -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).uniform(-1, 1, (256, 2))
    return x, np.maximum(x[:, :1], x[:, 1:])


def with_torch() -> list[dict[str, Any]]:
    import torch
    from torch import nn

    torch.manual_seed(0)
    torch.set_num_threads(1)  # such small matrices are slower on several
    x, y = (torch.tensor(each, dtype=torch.float32) for each in samples())
    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-3)
    with fs.Tracker(model, x, every=EVERY, csv="trajectory.csv") as tracker:
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            tracker.step(loss=loss.item())
    return tracker.records


def without_torch() -> list[dict[str, Any]]:
    x, y = samples()
    (run,) = fs.train(x, y, widths=[2, 16, 16, 1], epochs=STEPS // 16, every=EVERY // 16, weight_decay=1e-3)
    records = [
        {"step": 16 * r["epoch"], "loss": r["loss"], "functional_dimension": r["rank"], "regions": r["regions"],
         "dead": r["inactive"], "linear": r["active"]}
        for r in run.records
    ]  # fmt: skip
    with open("trajectory.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    return records


def draw(records: list[dict[str, Any]]) -> None:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    figure, left = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    steps = [record["step"] for record in records]
    left.plot(steps, [r["functional_dimension"] for r in records], "o-", color="#0072b2")
    left.set(xlabel="step", ylabel="functional dimension (blue)", title="Functional dimension during training")
    right = left.twinx()
    right.plot(steps, [r["regions"] for r in records], "s--", color="#d55e00")
    right.set_ylabel("regions sampled (orange)")
    figure.savefig("trajectory.png", dpi=120)
    print("wrote trajectory.png")


if __name__ == "__main__":
    try:
        records = with_torch()
    except ImportError:
        records = without_torch()
    print("  step        loss  functional dimension  regions  dead  linear")
    for r in records:
        loss = "" if r["loss"] is None else f"{r['loss']:.3e}"
        print(
            f"{r['step']:6}  {loss:>10}  {r['functional_dimension']:20}  {r['regions']:7}  {r['dead']:4}  {r['linear']:6}"
        )
    print("wrote trajectory.csv")
    draw(records)
