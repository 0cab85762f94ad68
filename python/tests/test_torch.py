"""PyTorch modules and training loops."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import random_network

import fiberscope as fs

torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn


class Handmade(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(3, 5), nn.Linear(5, 4, bias=False), nn.Linear(4, 2)

    def forward(self, x):
        x = torch.relu(self.first(x.flatten(1)))
        x = nn.functional.relu(self.second(x))
        return self.third(nn.functional.dropout(x, training=False))


def modules():
    torch.manual_seed(0)
    norm = nn.BatchNorm1d(5)
    norm.running_mean.uniform_(-1, 1)
    norm.running_var.uniform_(0.5, 2)
    yield nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
    yield nn.Sequential(nn.Flatten(), nn.Sequential(nn.Linear(3, 5), nn.ReLU()), nn.Dropout(0.5), nn.Linear(5, 2))
    yield nn.Sequential(nn.Linear(3, 5), norm, nn.ReLU(), nn.Identity(), nn.Linear(5, 2))
    yield nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 2), nn.ReLU())
    yield nn.Linear(3, 2)
    yield Handmade()


@pytest.mark.parametrize("module", list(modules()), ids=lambda module: type(module).__name__)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_modules_compute_the_same(module, dtype):
    module = module.to(dtype).eval()
    net = fs.from_torch(module)
    x = torch.randn(50, 3, dtype=dtype)
    with torch.no_grad():
        theirs = module(x).numpy()
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    assert np.allclose(net(x), theirs, rtol=tolerance, atol=tolerance)
    assert net.precision == ("f32" if dtype == torch.float32 else "f64")


def test_networks_become_modules_and_come_back():
    for dtype in (np.float32, np.float64):
        net = random_network([3, 6, 4, 2], 1, dtype)
        module = net.to_torch()
        assert fs.from_torch(module) == net
        assert fs.equiv(net, module)
    linear = fs.Network([np.eye(2), np.ones((1, 2))], activations=["identity", "identity"])
    assert fs.from_torch(linear.to_torch()) == linear


def test_a_saved_state_dict_is_the_module(tmp_path):
    module = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
    torch.save(module.state_dict(), tmp_path / "model.pt")
    assert fs.load(tmp_path / "model.pt") == fs.from_torch(module)


class Choosing(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


@pytest.mark.parametrize(
    "module, sentence",
    [
        (
            nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1)),
            r"layer `1` \(Tanh\): this operator is not piecewise linear",
        ),
        (
            nn.Sequential(nn.Conv2d(1, 2, 3)),
            r"layer 0 \(Conv2d\): the shape of the input is not known; give an example",
        ),
        (nn.Sequential(nn.ReLU()), "no linear layer found"),
        (nn.Sequential(nn.Linear(3, 2), Choosing()), "cannot be traced"),
        (nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4)), r"layer `1` \(LayerNormalization\)"),
        (3, "expected a torch.nn.Module, found int"),
    ],
)
def test_other_modules_are_refused_by_name(module, sentence):
    with pytest.raises((fs.UnsupportedLayerError, fs.ShapeError), match=f"(?s){sentence}"):
        fs.from_torch(module)


def test_a_training_loop_is_tracked(tmp_path):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    x = torch.randn(40, 2)
    y = x[:, :1].abs()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    with fs.Tracker(model, x, every=5, csv=tmp_path / "run.csv") as tracker:
        for _ in range(12):
            optimizer.zero_grad()
            loss = (model(x) - y).pow(2).mean()
            loss.backward()
            optimizer.step()
            tracker.step(loss=loss.item())
    assert [record["step"] for record in tracker.records] == [0, 5, 10, 12]
    last = tracker.records[-1]
    found = fs.from_torch(model).functional_dimension(x)
    assert last["functional_dimension"] == found.rank and last["regions"] == found.regions_sampled
    assert last["dead"] + last["linear"] + last["nonlinear"] == 8
    assert 0 < last["drift"] < 1


def test_a_diverged_model_is_a_warning(tmp_path):
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    tracker = fs.Tracker(model, np.zeros((4, 2)), every=1)
    with torch.no_grad():
        model[0].weight.fill_(float("nan"))
    with pytest.warns(UserWarning, match="step 1: nothing to observe"):
        tracker.step()
    assert tracker.records[-1]["functional_dimension"] is None
