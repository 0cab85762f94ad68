"""Extraction from Python functions, those that misbehave among them."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import random_network

import fiberscope as fs


def test_a_network_is_recovered_up_to_rounding():
    secret = random_network([8, 4, 1], 1)
    asked = 0

    def answer(x):
        nonlocal asked
        asked += len(x)
        return secret(x)

    found = fs.extract(answer, [8, 4, 1])
    assert found and found.queries == asked and found.fidelity["max_difference"] < 1e-6
    aligned = fs.align(secret, found.network)
    x = np.random.default_rng(2).uniform(-3, 3, (100, 8))
    assert np.allclose(found.network(x), secret(x), atol=1e-6) and aligned.distance_after < aligned.distance_before


def test_widths_are_found_and_vectors_are_answers():
    secret = random_network([10, 5, 1], 2)
    found = fs.extract(lambda x: secret(x)[:, 0], inputs=10, outputs=1)
    assert found and found.network.widths == [10, 5, 1]


def test_equal_seeds_ask_the_same():
    secret = random_network([3, 3, 1], 3)
    first, second = (fs.extract(secret, [3, 3, 1], seed=7) for _ in range(2))
    assert first.network == second.network and first.to_dict() == second.to_dict()


def test_a_limit_is_an_answer():
    found = fs.extract(random_network([4, 6, 5, 1], 4), [4, 6, 5, 1], max_queries=200)
    assert not found and found.reason and found.queries <= 200


def test_a_log_goes_on_and_the_truth_is_compared(tmp_path):
    secret = random_network([6, 4, 1], 5)
    log = tmp_path / "queries.log"
    asked = 0

    def answer(x):
        nonlocal asked
        asked += len(x)
        if asked > 300:
            raise Broken("the line is down")
        return secret(x)

    with pytest.raises(fs.OracleError, match="the line is down"):
        fs.extract(answer, [6, 4, 1], resume=log)
    found = fs.extract(secret, [6, 4, 1], resume=log, truth=secret)
    assert found and found.replayed > 0 and found.asked < found.queries and found.log == str(log)
    assert found.max_relative_error < 1e-6 and found.equiv["verdict"].startswith("equivalent")
    alone = fs.extract(secret, [6, 4, 1])
    assert alone.network == found.network and alone.max_relative_error is None
    with pytest.raises(fs.ModelFileError, match="another run"):
        fs.extract(secret, [6, 4, 1], resume=log, seed=1)
    with pytest.raises(fs.ShapeError, match="as the function has"):
        fs.extract(secret, [6, 4, 1], truth="zoo:deep")


class Broken(Exception):
    pass


def raises(x):
    raise Broken("out of order")


@pytest.mark.parametrize(
    "function, sentence",
    [
        (raises, "the function raised Broken on a batch of shape .*: out of order"),
        (lambda x: np.full((len(x), 1), np.nan), "answered NaN"),
        (lambda x: np.zeros((len(x), 2)), r"with shape \(\d+, 2\); expected \(\d+, 1\)"),
        (lambda x: np.zeros((len(x) + 1, 1)), "expected"),
        (lambda x: None, "expected real numbers"),
        (lambda x: "no", "expected real numbers"),
        (lambda x: np.random.default_rng().random((len(x), 1)), "not deterministic|not piecewise linear"),
    ],
)
def test_functions_that_misbehave_are_told_so(function, sentence):
    with pytest.raises(fs.OracleError, match=sentence) as caught:
        fs.extract(function, [2, 3, 1])
    assert (function is raises) == isinstance(caught.value.__cause__, Broken)


@pytest.mark.parametrize(
    "call",
    [
        lambda: fs.extract(3, [2, 1]),
        lambda: fs.extract(lambda x: x, [2]),
        lambda: fs.extract(lambda x: x),
        lambda: fs.extract(lambda x: x, [2, 2], domain=(1, -1)),
        lambda: fs.extract(lambda x: x, [2, 2], max_queries=0),
    ],
)
def test_arguments_are_checked(call):
    with pytest.raises(fs.ArgumentError):
        call()


def test_classes_are_enough():
    secret = random_network([4, 5, 3], 4)
    truth = np.argmax(secret(np.random.default_rng(5).uniform(-3, 3, (500, 4))), axis=1)
    found = fs.extract(lambda x: np.argmax(secret(x), axis=1), inputs=4, outputs=3, labels=True, truth=secret)
    if found:
        points = np.random.default_rng(5).uniform(-3, 3, (500, 4))
        assert np.array_equal(np.argmax(found.network(points), axis=1), truth)
        assert found.open or found.max_error < 1e-8
    assert found.verdict in ("verified", "partial") and found.queries > 0
    with pytest.raises(fs.OracleError):
        fs.extract(secret, inputs=4, outputs=3, labels=True)
