"""Train, permute, prune, merge: is it the same function, and if not, how far apart at most?

    python prune_and_merge.py        # needs PyTorch

Every answer comes with a certificate that `fs.check` and `fiberscope check` prove again in exact arithmetic.
"""

from __future__ import annotations

import copy

import torch
from torch import nn

import fiberscope as fs

torch.manual_seed(0)


def train() -> nn.Sequential:
    """A small regression on [-1, 1]^2."""
    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    x = 2 * torch.rand(512, 2) - 1
    y = torch.sin(3 * x[:, :1]) * x[:, 1:]
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(300):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return model


def permute(model: nn.Sequential) -> nn.Sequential:
    """The first hidden layer in another order: other parameters, the same function."""
    twin, order = copy.deepcopy(model), torch.randperm(16)
    with torch.no_grad():
        twin[0].weight.copy_(model[0].weight[order])
        twin[0].bias.copy_(model[0].bias[order])
        twin[2].weight.copy_(model[2].weight[:, order])
    return twin


def prune(model: nn.Sequential, share: float) -> nn.Sequential:
    """The smallest weights of the middle layer are set to zero."""
    pruned = copy.deepcopy(model)
    weight = pruned[2].weight
    with torch.no_grad():
        weight[weight.abs() < weight.abs().quantile(share)] = 0.0
    return pruned


if __name__ == "__main__":
    model = train()
    twin, pruned = permute(model), prune(model, 0.05)

    same = fs.equiv(model, twin)
    print(f"permuted: {same.verdict}; certificate checked: {bool(fs.check(same.certificate, model, twin))}")

    far = fs.diff(model, permute(pruned), box=(-1, 1))
    print(f"pruned (and permuted): on the box at least {far.lower:.4g} apart, at x = {far.witness.x}, and at most {far.upper:.4g}")

    middle = fs.merge(model, twin, 0.5)
    print(f"merged with its permuted twin: {fs.equiv(model, middle).verdict}")
