"""Certified differences and ranges."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import random_network

import fiberscope as fs


def test_bounds_hold_at_samples_and_the_certificate_is_accepted():
    a = random_network([2, 6, 2], 1)
    b = fs.Network([w * 1.01 for w in a.weights], a.biases)
    found = fs.diff(a, b, box=(-1, 1))
    assert found and found.lower <= found.upper <= 1.1001 * found.lower
    assert fs.check(found.certificate, a, b, (-1, 1), claim=f"within={found.upper}")
    X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    assert np.abs(a(X) - b(X)).max() <= found.upper
    assert np.abs(found.witness.a - found.witness.b).max() == pytest.approx(found.lower)
    assert len(found.outputs) == 2 and found.output in (0, 1)


def test_epsilon_decides_both_ways():
    pair = "zoo:identifiable", "zoo:identifiable-nudged"
    within, beyond = (fs.diff(*pair, box=(-1, 1), epsilon=epsilon) for epsilon in (1e-6, 1e-7))
    assert within and within.decision == "within"
    assert not beyond and beyond.decision == "exceeds"


def test_limits_give_bounds():
    found = fs.diff("zoo:hiding-two", "zoo:hiding-two-too-far", box=(-2, 2), gap=1e-6, time_limit=0.05)
    assert found.upper >= found.lower == 0.5


def test_ranges_contain_samples():
    net = random_network([2, 5, 3], 2)
    found = fs.bounds(net, box=(-1, 1))
    values = net(np.random.default_rng(0).uniform(-1, 1, (200, 2)))
    for value, output in zip(values.T, found.outputs, strict=True):
        assert output["lower"] <= value.min() and value.max() <= output["upper"]
    assert fs.check(found.certificate, net, found.constant)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, fs.DomainError),
        ({"box": (1, -1)}, fs.DomainError),
        ({"box": (-1, 1), "epsilon": -1}, fs.ArgumentError),
        ({"box": (-1, 1), "gap": float("nan")}, fs.ArgumentError),
    ],
)
def test_bad_questions(arguments, error):
    with pytest.raises(error):
        fs.diff("zoo:abs", "zoo:abs", **arguments)


def test_other_shapes():
    with pytest.raises(fs.ShapeError):
        fs.diff("zoo:abs", "zoo:deep", box=(-1, 1))
