"""The functional dimension of any module: numerical where it is, exact where it can be."""

from __future__ import annotations

import numpy as np
import pytest

import fiberscope as fs

torch = pytest.importorskip("torch")


def mlp(*widths, act=torch.nn.ReLU, seed=0):
    torch.manual_seed(seed)
    layers = []
    for before, behind in zip(widths, widths[1:]):
        layers += [torch.nn.Linear(before, behind), act()]
    return torch.nn.Sequential(*layers[:-1])


def test_a_relu_network_is_exact_and_the_numbers_agree():
    for seed in range(5):
        module = mlp(3, 6, 5, 2, seed=seed)
        x = np.random.default_rng(seed).standard_normal((80, 3))
        exact = fs.functional_dimension(module, x)
        assert isinstance(exact, fs.results.Dimension)
        for memory in (2000, 1):
            near = fs.functional_dimension(module, x, numerical=True, memory=memory)
            assert near.numerical and near.rank == exact.rank and near.parameters == exact.parameters


def test_smooth_convolutional_and_attentive_modules_are_numerical():
    tanh = fs.functional_dimension(mlp(2, 4, 1, act=torch.nn.Tanh), np.random.default_rng(1).standard_normal((60, 2)))
    assert isinstance(tanh, fs.results.NumericalDimension)
    # tanh has no scalings: all 17 parameters count.
    assert (tanh.rank, tanh.parameters, int(tanh)) == (17, 17, 17)
    assert tanh.rank == (tanh.singular_values > tanh.tolerance).sum()
    assert 1 <= tanh.stable_rank <= tanh.effective_dimension <= tanh.rank
    # A convolution is read as a layer with more parameters, so that the exact rank would be another one.
    conv = torch.nn.Sequential(torch.nn.Conv1d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(12, 1))
    found = fs.functional_dimension(conv, torch.randn(50, 1, 8))
    assert found.numerical and found.parameters == 8 + 13 and found.rank <= 21 - 2
    encoder = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    assert fs.functional_dimension(encoder, torch.randn(3, 4, 4)).rows == 48


def test_the_gram_matrix_gives_the_rank_where_the_jacobian_is_too_large():
    module = mlp(2, 300, 100, 1, act=torch.nn.Tanh)
    x = np.random.default_rng(2).standard_normal((20, 2))
    small = fs.functional_dimension(module, x, memory=1, block=7)
    large = fs.functional_dimension(module, x)
    assert (small.method, large.method) == ("gram", "jacobian")
    np.testing.assert_allclose(small.singular_values[:10], large.singular_values[:10], rtol=1e-6)


def test_what_cannot_be_done_is_said():
    class Named(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 3)

        def forward(self, x):
            return {"logits": self.linear(x)}

    with pytest.raises(fs.ArgumentError, match="picks a tensor"):
        fs.functional_dimension(Named(), np.ones((4, 2)), numerical=True)
    assert fs.functional_dimension(Named(), np.eye(2), numerical=True, output=lambda found: found["logits"]).rank == 6
    with pytest.raises(fs.ArgumentError, match="can be read"):
        fs.functional_dimension(mlp(2, 3, 1, act=torch.nn.Tanh), np.ones((4, 2)), numerical=False)
    with pytest.raises(fs.ArgumentError, match="at least one input"):
        fs.functional_dimension(mlp(2, 3, 1, act=torch.nn.Tanh), np.ones((0, 2)))
    with pytest.raises(fs.ArgumentError, match="fewer inputs"):
        fs.functional_dimension(mlp(2, 50, 1, act=torch.nn.Tanh), np.ones((900, 2)), memory=1)


def test_the_tracker_takes_any_module(tmp_path):
    module = mlp(2, 4, 1, act=torch.nn.Tanh)
    data = torch.randn(30, 2)
    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    tracker = fs.Tracker(module, data, every=1, csv=tmp_path / "run.csv")
    assert tracker.numerical
    for _ in range(3):
        optimizer.zero_grad()
        module(data).square().mean().backward()
        optimizer.step()
        tracker.step(loss=1.0)
    ranks = [record["functional_dimension"] for record in tracker.records]
    assert ranks[0] == 17 and ranks[-1] == fs.functional_dimension(module, data).rank
    assert all(record["numerical"] for record in tracker.records) and len(tracker.records) == 4
    assert fs.Tracker(mlp(2, 3, 1), np.ones((4, 2))).numerical is False
