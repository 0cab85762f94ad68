"""Records trajectories of PyTorch: parameters after every step, for the optimisers and losses that Fiberscope has.

python make.py > trajectories.json        (made with torch 2.15.0, numpy 2.4.6)
"""

import json

import torch
from torch import nn

CASES = [
    ("adam", "f32", "mse", [2, 6, 5, 1], dict(lr=0.01, weight_decay=1e-2)),
    ("adam", "f64", "mse", [1, 10, 10, 10, 10, 1], dict(lr=0.01, weight_decay=1e-4)),
    ("adamw", "f64", "mse", [3, 4, 2], dict(lr=0.02, weight_decay=0.1)),
    ("sgd", "f64", "mse", [2, 6, 1], dict(lr=0.05, momentum=0.9, weight_decay=1e-2)),
    ("adam", "f64", "cross-entropy", [2, 7, 3], dict(lr=0.01, weight_decay=0.0)),
    ("sgd", "f32", "cross-entropy", [2, 5, 5, 4], dict(lr=0.1, momentum=0.0, weight_decay=0.0)),
]
OPTIMIZERS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
STEPS = 12


def flat(model):
    return [x for p in model.parameters() for x in p.detach().double().flatten().tolist()]


def record(seed, optimizer, precision, loss, widths, options):
    torch.manual_seed(seed)
    dtype = torch.float32 if precision == "f32" else torch.float64
    layers = []
    for n, m in zip(widths, widths[1:]):
        layers += [nn.Linear(n, m, dtype=dtype), nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    inputs = torch.randn(21, widths[0], dtype=dtype)
    if loss == "mse":
        targets = torch.randn(21, widths[-1], dtype=dtype)
        criterion = nn.MSELoss()
    else:
        targets = torch.randint(widths[-1], (21,))
        criterion = nn.CrossEntropyLoss()
    steps = OPTIMIZERS[optimizer](model.parameters(), **options)
    case = {
        "optimizer": optimizer,
        "precision": precision,
        "loss": loss,
        "widths": widths,
        "options": options,
        "inputs": inputs.double().tolist(),
        "targets": targets.double().reshape(21, -1).tolist(),
        "initial": flat(model),
        "batches": [],
        "losses": [],
        "after": [],
    }
    for k in range(STEPS):
        # The last batches are not full.
        batch = torch.randperm(21)[: 16 if k % 2 == 0 else 5]
        steps.zero_grad()
        value = criterion(model(inputs[batch]), targets[batch])
        value.backward()
        steps.step()
        case["batches"].append(batch.tolist())
        case["losses"].append(value.item())
        case["after"].append(flat(model))
    return case


print(json.dumps({"torch": torch.__version__, "cases": [record(k, *case) for k, case in enumerate(CASES)]}))
