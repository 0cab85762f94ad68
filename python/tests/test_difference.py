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


def classifier() -> tuple[fs.Network, fs.Network, np.ndarray]:
    """A classifier of ten clouds of points, the same with weights in steps of 1/64, and the middles of the clouds."""
    rng = np.random.default_rng(5)
    middles = rng.uniform(0, 1, (10, 12))
    labels = rng.integers(0, 10, 3000)
    X = middles[labels] + rng.normal(0, 0.1, (3000, 12))
    first, bias = rng.normal(0, 1, (32, 12)), rng.normal(0, 1, 32)
    features = np.hstack([np.maximum(X @ first.T + bias, 0), np.ones((3000, 1))])
    last = np.linalg.lstsq(features, 8 * np.eye(10)[labels], rcond=None)[0].T
    a = fs.Network([first, last[:, :-1]], [bias, last[:, -1]])
    b = fs.Network([np.round(64 * w) / 64 for w in a.weights], a.biases)
    return a, b, middles


def around(x: np.ndarray, free: int, radius: float) -> np.ndarray:
    """A box around a point: the first inputs are free."""
    width = np.zeros(12)
    width[:free] = radius
    return np.stack([x - width, x + width], axis=1)


def test_the_class_is_kept():
    a, b, points = classifier()
    rng = np.random.default_rng(0)
    answers = []
    for point in points[:6]:
        box = around(point, 4, 0.15)
        for margin in (0.0, 1.0):
            found = fs.diff(a, b, box=box, top1=True, margin=margin, time_limit=20)
            answers.append(found.holds)
            X = rng.uniform(box[:, 0], box[:, 1], (400, 12))
            values, others = a(X), b(X)
            ordered = np.sort(values, axis=1)
            sure = ordered[:, -1] - ordered[:, -2] > margin
            if found:
                assert (values.argmax(1) == others.argmax(1))[sure].all()
                assert fs.check(found.certificate, a, b, box, claim=f"same_class={margin}")
                never = [k for k, state in enumerate(found.states or []) if state == "never"]
                assert not np.isin(values.argmax(1)[sure], never).any()
            elif found.holds is False:
                mine, other = found.classes
                assert found.witness.a.argmax() == mine and found.witness.b[other] >= found.witness.b[mine]
                assert fs.check(found.certificate, a, b, claim=f"other_class={margin}")
    assert answers.count(True) >= 4, answers


def test_confidence_and_what_is_never_so():
    a, b, points = classifier()
    found = fs.diff(a, b, box=around(points[0], 4, 0.02), top1=True, confidence=0.9)
    assert found.holds is True and found.confidence == 0.9
    assert 2.19 < found.margin <= np.log(9)
    assert found.states.count("never") == 9 and found.seen == [int(a(points[:1]).argmax())]
    assert "9 of 10 classes A is never so sure of there" in found.text


@pytest.mark.parametrize(
    "arguments",
    [
        {"margin": 1.0},
        {"confidence": 0.9},
        {"top1": True, "margin": -1.0},
        {"top1": True, "margin": float("nan")},
        {"top1": True, "margin": 0.5, "confidence": 0.9},
        {"top1": True, "confidence": 1.0},
        {"top1": True, "confidence": 0.4},
        {"top1": True, "epsilon": 0.1},
        {"top1": True, "gap": 0.1},
    ],
)
def test_bad_questions_about_classes(arguments):
    a = random_network([2, 3, 2], 1)
    with pytest.raises(fs.FiberscopeError):
        fs.diff(a, a, box=(-1, 1), **arguments)
