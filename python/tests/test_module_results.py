"""Which value of a PyTorch module is meant, and what it does beside its operators."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fiberscope as fs

torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn


@pytest.mark.parametrize("export", [True, False])
def test_one_of_several_results_may_be_asked_for(export, monkeypatch):
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 2), nn.Linear(4, 5)

        def forward(self, x):
            h = self.body(x).relu()
            values, places = self.a(h).max(1)
            return {"logits": self.a(h), "more": (self.b(h), torch.exp(h)), "values": values, "places": places}

    if not export:
        monkeypatch.setattr(torch.export, "export", lambda *_, **__: 1 / 0)
    module, x = Heads().eval(), torch.randn(1, 3)
    given = module(x)
    for name, expected in {"logits": given["logits"], "more.0": given["more"][0], "values": given["values"]}.items():
        net = fs.from_torch(module, x, output=f"result.{name}")
        assert np.allclose(net(x[0].numpy()), expected.detach().numpy().ravel(), rtol=1e-5, atol=1e-6)
    with pytest.raises(fs.UnsupportedLayerError, match="exp"):
        fs.from_torch(module, x, output="result.more.1")
    with pytest.raises(fs.UnsupportedLayerError, match="jump"):
        fs.from_torch(module, x, output="result.places")
    with pytest.raises(
        fs.ArgumentError, match=r"expected a layer of the module, such as .*result\.logits, result\.more\.0"
    ):
        fs.from_torch(module, x, output="result.other")


class Plain(nn.Module):
    """What its classes below do more than its operators say is not read."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.b(self.a(x).relu())


class Counts(Plain):
    """A tensor that is changed in place and is no buffer: `torch.export` gives up."""

    def __init__(self):
        super().__init__()
        self.calls = torch.zeros(())

    def forward(self, x):
        self.calls.add_(1)
        h = self.a(x).relu()
        return {"second": (self.b(h), h), "first": h[:, :2]}


class Shuffles(Plain):
    def forward(self, x):
        return super().forward(x) + float(np.random.rand())


class Keeps(Plain):
    """Its last operator does not give what it returns."""

    def forward(self, x):
        y = self.a(x)
        self.kept = y.relu() * 2
        return y


class Twice(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.block, self.act, self.out = block, nn.ReLU(), nn.Linear(4, 2)

    def forward(self, x):
        return self.out(self.act(self.act(self.block(x)) - 1))


@dataclasses.dataclass
class Answers:
    logits: torch.Tensor
    more: torch.Tensor


class Answering(Plain):
    def forward(self, x):
        h = self.a(x).relu()
        return Answers(self.b(h), h)


def test_what_a_module_does_beside_its_operators_is_no_part_of_a_network():
    x = torch.zeros(1, 3)
    module = Counts().eval()
    net = fs.from_torch(module, x, output="result.first")
    given = torch.randn(1, 3)
    assert np.allclose(net(given[0].numpy()), module(given)["first"][0].detach().numpy(), atol=1e-6)
    with pytest.raises(
        fs.UnsupportedLayerError, match=r"3 tensors, result\.second\.0, result\.second\.1, result\.first"
    ):
        fs.from_torch(module, x)
    hooked = Counts().eval()
    hooked.register_forward_hook(lambda module, given, found: {"first": found["first"] * 2})
    with pytest.raises(fs.UnsupportedLayerError, match="cannot be traced"):
        fs.from_torch(hooked, x)
    with pytest.raises(fs.UnsupportedLayerError, match="different numbers when it is asked twice"):
        fs.from_torch(Shuffles(), x)
    everywhere = nn.modules.module.register_module_forward_hook(
        lambda module, given, found: found * 2 if isinstance(module, nn.Linear) else None
    )
    try:
        module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        expected = module(given)[0].detach().numpy()
        assert np.allclose(fs.from_torch(module)(given[0].numpy()), expected, atol=1e-5)
    finally:
        everywhere.remove()


def test_a_layer_is_what_it_returns():
    x, given = torch.zeros(1, 3), torch.randn(1, 3)
    with pytest.raises(
        fs.UnsupportedLayerError, match="block returns something else than the value that it computes last"
    ):
        fs.from_torch(Twice(Keeps()).eval(), x, output="block")
    module = Twice(nn.Linear(3, 4)).eval()
    net = fs.from_torch(module, x, output="act")
    assert "layer act is called 2 times; the network is that of call 2" in net.notes
    assert np.allclose(net(given[0].numpy()), (module.block(given).relu() - 1).relu()[0].detach().numpy(), atol=1e-6)


def test_results_may_be_dataclasses():
    torch.export.register_dataclass(Answers)
    module, x, given = Answering().eval(), torch.zeros(1, 3), torch.randn(1, 3)
    with pytest.raises(fs.UnsupportedLayerError, match=r"2 tensors, result\.logits, result\.more; name"):
        fs.from_torch(module, x)
    net = fs.from_torch(module, x, output="result.logits")
    assert np.allclose(net(given[0].numpy()), module(given).logits[0].detach().numpy(), atol=1e-6)


def test_constants_may_come_first():
    class First(Plain):
        def forward(self, x):
            y = self.a(x)
            return torch.clamp(torch.ones(4), max=y) + torch.ones(4).view_as(y)

    module, given = First().eval(), torch.randn(1, 3)
    net = fs.from_torch(module, torch.zeros(1, 3))
    assert np.allclose(net(given[0].numpy()), module(given)[0].detach().numpy(), atol=1e-6)


def test_a_layer_before_one_that_is_not_read_may_be_asked_for():
    class Looks(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.table, self.out = nn.Linear(3, 3), nn.Embedding(3, 2), nn.Linear(2, 1)

        def forward(self, x):
            return self.out(self.table(self.fc(x).argmax(1)))

    module, x = Looks().eval(), torch.randn(1, 3)
    net = fs.from_torch(module, x, output="fc")
    assert np.allclose(net(x[0].numpy()), module.fc(x)[0].detach().numpy(), rtol=1e-5, atol=1e-6)
    for output in (None, "table", "out"):
        with pytest.raises(
            fs.UnsupportedLayerError, match=r"layer table \(Embedding\).*it is not read.*; output='fc' reads"
        ):
            fs.from_torch(module, x, output=output)
