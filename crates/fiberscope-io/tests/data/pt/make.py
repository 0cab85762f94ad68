"""Makes the .pt files of this folder and expected.json (see README.md)."""

import io
import json
import warnings
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import torch
from torch import nn

warnings.simplefilter("ignore")
HERE = Path(__file__).parent
torch.manual_seed(4)
expected = {}


def bits(tensor):
    """The entries as doubles, as 16 hexadecimal digits each."""
    array = tensor.detach().double().contiguous().numpy()
    return [f"{n:016x}" for n in array.ravel().view(np.uint64).tolist()]


def record(name, precision, tensors):
    """`tensors`: weight, bias, weight, bias, ..."""
    tensors = list(tensors)
    expected[name] = {
        "precision": precision,
        "layers": [
            {"shape": list(w.shape), "weight": bits(w), "bias": bits(b)} for w, b in zip(tensors[::2], tensors[1::2])
        ],
    }


def model(widths=(3, 4, 2)):
    linear = [nn.Linear(n, m) for n, m in zip(widths, widths[1:])]
    return nn.Sequential(*[m for l in linear for m in (l, nn.ReLU())][:-1])


for precision, convert in [("f32", "float"), ("f64", "double"), ("f16", "half"), ("bf16", "bfloat16")]:
    net = getattr(model(), convert)()
    torch.save(net.state_dict(), HERE / f"{precision}.pt")
    record(f"{precision}.pt", precision, net.state_dict().values())

for protocol in [3, 4, 5]:
    net = model()
    torch.save(net.state_dict(), HERE / f"protocol{protocol}.pt", pickle_protocol=protocol)
    record(f"protocol{protocol}.pt", "f32", net.state_dict().values())

net = model((2,) * 8)
torch.save(net.state_dict(), HERE / "natural_order.pth")
record("natural_order.pth", "f32", net.state_dict().values())

net = model()
optimizer = torch.optim.Adam(net.parameters())
net(torch.randn(5, 3)).sum().backward()
optimizer.step()
for key in ["state_dict", "model_state_dict", "model"]:
    checkpoint = {
        "epoch": 7,
        "seed": 2**63,
        "loss": 0.25,
        "history": [1.0, 2.0],
        "best": None,
        key: net.state_dict(),
        "optimizer": optimizer.state_dict(),
    }
    torch.save(checkpoint, HERE / f"checkpoint_{key}.pt")
    record(f"checkpoint_{key}.pt", "f32", net.state_dict().values())

# Parameters instead of tensors, and a scalar beside them.
tensors = {"W1": nn.Parameter(torch.randn(2, 3)), "b1": nn.Parameter(torch.randn(2)), "comment": "hello", "epoch": 3}
torch.save(tensors, HERE / "parameters.pt")
record("parameters.pt", "f32", [tensors["W1"], tensors["b1"]])

# Views of one storage: transposed, every second entry, repeated entries, an offset.
storage = torch.randn(40, dtype=torch.float64)
tensors = OrderedDict(
    W1=storage[5:17].view(3, 4).T, b1=storage[1:9:2], W2=storage[20:32].view(3, 4)[::2], b2=storage[39:].expand(2)
)
torch.save(tensors, HERE / "views.pt")
record("views.pt", "f64", tensors.values())

tensors = {"W1": torch.tensor([[1, -2]]), "b1": torch.tensor([3], dtype=torch.int32)}
torch.save(tensors, HERE / "integers.pt")
record("integers.pt", "f64", tensors.values())

# What is refused.
torch.save(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Linear(2, 1)).state_dict(), HERE / "batchnorm.pt")
torch.save(nn.Sequential(nn.Conv2d(1, 1, 2)).state_dict(), HERE / "convolution.pt")
torch.save(model(), HERE / "whole_module.pt")
torch.save({"epoch": 1, "net": model()}, HERE / "module_inside.pt")
torch.save(model().state_dict(), HERE / "legacy.pt", _use_new_zipfile_serialization=False)
# Without the debugging entries, which name folders of the machine.
stream = io.BytesIO()
torch.jit.save(torch.jit.script(model((1, 1))), stream)
with zipfile.ZipFile(stream) as scripted, zipfile.ZipFile(HERE / "torchscript.pt", "w") as archive:
    for name in scripted.namelist():
        if not name.endswith(".debug_pkl"):
            archive.writestr(zipfile.ZipInfo(name), scripted.read(name))
torch.save([torch.zeros(1)], HERE / "list.pt")
torch.save({"encoder": {}, "epoch": 3}, HERE / "no_tensors.pt")
torch.save({"0.weight": torch.zeros(1, 1, dtype=torch.complex64)}, HERE / "complex.pt")

(HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
