"""Results: frozen, slotted, pickled and copied as values; a picture is drawn when somebody looks."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle

import numpy as np
import pytest
from conftest import random_network

import fiberscope as fs
from fiberscope import results


@pytest.mark.parametrize("name", results.__all__)
def test_a_result_is_a_frozen_dataclass_with_slots(name):
    kind = getattr(results, name)
    if kind is fs.Certificate:
        return
    assert dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen
    assert all("__slots__" in vars(each) for each in inspect.getmro(kind)[:-1])


def pictured() -> list[results.Regions | results.Folds | results.Dimension]:
    net = fs.load("zoo:deep")
    x = np.random.default_rng(0).standard_normal((20, 2))
    return [
        net.regions(box=(-1, 1)),
        net.folds(box=(-1, 1)),
        net.functional_dimension(x),
        net.functional_dimension(box=(-1, 1)),
    ]


@pytest.mark.parametrize("at", range(4))
def test_a_picture_is_drawn_when_somebody_looks(at):
    found = pictured()[at]
    repr(found), found.to_dict(), found.data, bool(found)
    assert not found._picture.drawn
    svg = found._repr_svg_()
    assert found._picture.drawn and svg.startswith("<svg") and found.svg == svg
    assert "data:image/svg+xml" in found._repr_html_()


def test_results_are_pickled_and_copied():
    for found in [*pictured(), fs.equiv("zoo:hiding-two", "zoo:hiding-two-too-far"), fs.load("zoo:deep").reduce()]:
        for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
            assert type(again) is type(found) and again.to_dict() == found.to_dict() and repr(again) == repr(found)
            assert getattr(again, "svg", None) == getattr(found, "svg", None)


def test_results_read_well():
    """`print` shows the words of the command, `repr` is one line, a notebook shows a table."""
    net = fs.load("zoo:deep")
    found = [
        fs.equiv("zoo:hiding-two", "zoo:hiding-two-too-far"),
        fs.equiv("zoo:deep", "zoo:deep-rounded"),
        fs.align("zoo:deep", "zoo:deep-shuffled"),
        fs.diff("zoo:deep", "zoo:deep-rounded", box=(-1, 1), epsilon=1e-9),
        net.info(),
        fs.load("zoo:dead").reduce(),
        net.canon(),
        net.regions(box=(-1, 1)),
        net.fiber(),
    ]
    for each in found:
        assert "\n" not in repr(each) and repr(each).startswith(type(each).__name__)
        assert str(each) != repr(each) and not str(each).endswith("\n")
        shown = each._repr_html_()
        assert "<table>" in shown and shown.count("<table>") == shown.count("</table>")
    assert str(found[0]).startswith("different: the outputs differ by 0.5 ") and "A(x) = (0)" in str(found[0])
    assert "not exactly equal" in str(found[1]) and "B(x) = " in str(found[1])
    assert str(found[2]).startswith("distance ") and str(found[4]).startswith("zoo:deep\n")
    assert "regions" in str(found[7])


def test_there_is_no_picture_where_nothing_can_be_seen():
    found = random_network([3, 3, 1], 1).regions(box=(-1, 1))
    assert found.regions > 1 and found.svg is None and "<img" not in found._repr_html_()
    assert fs.load("zoo:deep").regions(box=(-1, 1), count_only=True).svg is None


def test_networks_of_a_result_are_a_sequence():
    points = fs.load("zoo:linear-many").fiber().sample(3)
    assert len(points) == 3 and list(points) == points.networks and points[2] is points.networks[2] and points
    path = fs.linear.path("zoo:linear-network", steps=4)
    assert len(path) == 5 and path[-1] is path.networks[4] and path
