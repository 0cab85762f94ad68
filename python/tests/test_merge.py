"""Merging: what is averaged, in which precision, and where it goes."""

from __future__ import annotations

import numpy as np
import pytest

import fiberscope as fs

torch = pytest.importorskip("torch")


def shuffled(module: torch.nn.Sequential, seed: int) -> torch.nn.Sequential:
    """The same function with the hidden neurons permuted and scaled by powers of two."""
    import copy

    random = np.random.default_rng(seed)
    made = copy.deepcopy(module)
    linear = [layer for layer in made if isinstance(layer, torch.nn.Linear)]
    with torch.no_grad():
        for one, next_one in zip(linear, linear[1:]):
            order = torch.from_numpy(random.permutation(one.out_features))
            scale = torch.from_numpy(2.0 ** random.integers(-2, 3, one.out_features)).to(one.weight.dtype)
            one.weight.copy_(one.weight[order] * scale[:, None])
            one.bias.copy_(one.bias[order] * scale)
            next_one.weight.copy_(next_one.weight[:, order] / scale)
    return made


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_module_comes_back_as_a_module(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    a = torch.nn.Sequential(
        torch.nn.Linear(5, 9), torch.nn.ReLU(), torch.nn.Linear(9, 7), torch.nn.ReLU(), torch.nn.Linear(7, 2)
    ).to(dtype)
    b = shuffled(a, 1)
    before = {key: value.clone() for key, value in a.state_dict().items()}
    middle = fs.merge(a, b, 0.5)
    assert type(middle) is type(a) and middle[0].weight.dtype == dtype
    assert all(torch.equal(value, before[key]) for key, value in a.state_dict().items())
    assert bool(fs.equiv(a, middle, exact=True))
    # Averaged as they are stored, they are another function.
    plain = [(one.detach() + other.detach()) / 2 for one, other in zip(a.parameters(), b.parameters())]
    assert any(not torch.equal(one, other) for one, other in zip(plain, middle.parameters()))


def test_parameters_are_mixed_one_by_one() -> None:
    random = np.random.default_rng(3)
    weights = [random.normal(size=(4, 2)), random.normal(size=(1, 4))]
    a = fs.Network(weights, [random.normal(size=4), random.normal(size=1)])
    b = fs.Network([w + 1e-3 * random.normal(size=w.shape) for w in weights], a.biases)
    aligned = fs.align(a, b).network
    for t in (0.0, 0.25, 1.0):
        made = fs.merge(a, b, t)
        for one, other, found in zip(a.weights, aligned.weights, made.weights):
            assert np.allclose(found, (1 - t) * one + t * other, rtol=1e-15, atol=0)
    assert fs.merge(a, b, 0.0) == a


def test_neurons_are_matched_by_what_they_do() -> None:
    torch.manual_seed(4)
    a = torch.nn.Sequential(torch.nn.Linear(4, 9), torch.nn.ReLU(), torch.nn.Linear(9, 2))
    b = shuffled(a, 2)
    with torch.no_grad():
        for each in b.parameters():
            each += 0.01 * torch.randn_like(each)
    x = np.random.default_rng(0).normal(size=(200, 4))
    for metric in ("weights", "activations"):
        found = fs.align(a, b, data=x, metric=metric, starts=3)
        assert found.exact and 10 * found.barrier_after < found.barrier_before
        assert len(found.losses_before) == len(found.losses_after) > 10
    with pytest.raises(fs.ArgumentError, match="expected data"):
        fs.align(a, b, metric="activations")
    with pytest.raises(fs.ArgumentError, match="metric"):
        fs.align(a, b, metric="names")
    with pytest.raises(fs.ArgumentError, match="starts"):
        fs.align(a, b, starts=0)


class Residual(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        nn = torch.nn
        self.stem, self.inner = nn.Conv2d(2, 6, 3, padding=1), nn.Conv2d(6, 5, 3, padding=1)
        self.outer, self.fc = nn.Conv2d(5, 6, 3, padding=1), nn.Linear(6 * 36, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(self.stem(x))
        h = torch.relu(self.outer(torch.relu(self.inner(h))) + h)
        return self.fc(h.flatten(1))

    def permuted(self, stream: list[int], inner: list[int]) -> Residual:
        """The same function with its channels in another order."""
        import copy

        made = copy.deepcopy(self)
        with torch.no_grad():
            made.stem.weight.copy_(self.stem.weight[stream])
            made.stem.bias.copy_(self.stem.bias[stream])
            made.inner.weight.copy_(self.inner.weight[inner][:, stream])
            made.inner.bias.copy_(self.inner.bias[inner])
            made.outer.weight.copy_(self.outer.weight[stream][:, inner])
            made.outer.bias.copy_(self.outer.bias[stream])
            made.fc.weight.copy_(self.fc.weight.reshape(3, 6, 36)[:, stream].reshape(3, -1))
        return made


def test_channels_of_a_residual_network_are_aligned() -> None:
    torch.manual_seed(5)
    example = torch.zeros(1, 2, 6, 6)
    module = Residual()
    trained = Residual()
    trained.load_state_dict({key: value + 0.01 * torch.randn_like(value) for key, value in module.state_dict().items()})
    shuffle = [3, 0, 5, 1, 4, 2], [4, 2, 0, 1, 3]
    a, near = fs.from_torch(module, example), fs.from_torch(trained, example)
    exact = fs.align(a, fs.from_torch(module.permuted(*shuffle), example))
    assert exact.distance_after == 0 and exact.relative == 0
    b = fs.from_torch(trained.permuted(*shuffle), example)
    points = np.random.default_rng(0).normal(size=(30, 72))
    for metric in ("weights", "activations"):
        found = fs.align(a, b, data=points, metric=metric)
        assert found.network == near and found.exact and found.unmatched_layers == []
        assert 10 * found.barrier_after < found.barrier_before
    middle = fs.merge(a, b, 0.5)
    assert middle.precision == "f32" and np.allclose(middle(points), (a(points) + near(points)) / 2, atol=0.1)


def test_what_cannot_be_merged() -> None:
    with pytest.raises(fs.ArgumentError, match="from 0 to 1"):
        fs.merge("zoo:deep", "zoo:deep-shuffled", 1.5)
    with pytest.raises(fs.FiberscopeError, match="widths"):
        fs.merge("zoo:deep", "zoo:abs")
    normed = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, 1)
    ).eval()
    with torch.no_grad():
        normed[1].running_mean.fill_(0.5)
    with pytest.raises(fs.UnsupportedLayerError, match="from_torch"):
        fs.merge(normed, normed)
