"""Every question: Python and the command give the same object, and the answers fit together."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import random_network

import fiberscope as fs


def without(found: dict, *keys: str) -> dict:
    return {key: value for key, value in found.items() if key not in ("seconds", "files", "output", *keys)}


@pytest.mark.parametrize("name", ["zoo:hiding-two", "zoo:deep", "zoo:linear-many", "zoo:cancelling"])
def test_info_is_the_commands(command, name):
    assert fs.load(name).info().to_dict() == command("info", name)


@pytest.mark.parametrize("name", ["zoo:hiding-two", "zoo:deep", "zoo:linear-many"])
def test_fiber_is_the_commands(command, name):
    assert fs.load(name).fiber().to_dict() == command("fiber", name)


@pytest.mark.parametrize("other", ["zoo:hiding-two-translated", "zoo:hiding-two-too-far"])
def test_equiv_is_the_commands(command, other):
    found = fs.equiv("zoo:hiding-two", other)
    assert found.to_dict() == without(command("equiv", "zoo:hiding-two", other))
    assert bool(found) == (found.verdict == "equivalent")


def test_regions_and_folds_are_the_commands(command):
    net = fs.load("zoo:deep")
    assert net.regions(box=(-1, 1)).to_dict() == without(command("regions", "zoo:deep", "--box", "-1,1"))
    assert net.regions().to_dict() == without(command("regions", "zoo:deep"))
    assert net.folds(box="-1,1").to_dict() == command("folds", "zoo:deep", "--box", "-1,1")
    assert net.regions(method="walk").data["method"] == "walk"


def test_functional_dimension_is_the_commands(command, tmp_path):
    x = np.random.default_rng(0).standard_normal((30, 2))
    np.save(tmp_path / "x.npy", x)
    net = fs.load("zoo:deep")
    theirs = command("funcdim", "zoo:deep", str(tmp_path / "x.npy"), "--spectrum", "--generic")
    found = net.functional_dimension(x, spectrum=True, generic=True)
    assert without(found.to_dict(), "on") == without(theirs, "on")
    assert int(found) == found.rank == np.linalg.matrix_rank(net.ntk(x))
    theirs = command("funcdim", "zoo:deep", "--box", "-1,1")
    assert net.functional_dimension(box=(-1, 1)).to_dict() == theirs


def test_volume_and_strata_are_the_commands(command):
    found = fs.volume([3, 3, 2, 1], samples=1000)
    assert found.to_dict() == command("volume", "--widths", "3,3,2,1", "--samples", "1000")
    assert fs.linear.strata([4, 6, 5], 1).to_dict() == command("linear", "strata", "--widths", "4,6,5", "--rank", "1")
    theirs = command("linear", "inspect", "zoo:linear-network", "--exact", "--bases")
    assert fs.linear.inspect("zoo:linear-network", exact=True, bases=True).to_dict() == theirs
    assert (
        fs.linear.strata([30] * 5, count_only=True).count
        == command("linear", "strata", "--widths", "30,30,30,30,30", "--count-only")["count"]
    )


def test_training_is_the_commands(command, tmp_path):
    flags = ["--task", "f1", "--widths", "1,4,1", "--epochs", "4", "--every", "2", "--seeds", "2"]
    theirs = command("train", *flags, "-o", str(tmp_path / "run"))
    runs = fs.train(task="f1", widths=[1, 4, 1], epochs=4, every=2, seeds=2)
    assert [run.records[-1] for run in runs] == [run["last"] for run in theirs["runs"]]
    stored = fs.load(tmp_path / "run" / "seed-0001.safetensors")
    assert stored == runs[1].network


def test_conservation_is_the_commands(command, tmp_path):
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((12, 3)), rng.standard_normal(12)
    np.save(tmp_path / "samples.npy", np.column_stack([x, y]))
    flags = ["--time", "0.1", "--steps", "8", "--halvings", "1"]
    theirs = command("conserve", "zoo:hiding-two", str(tmp_path / "samples.npy"), *flags)
    found = fs.load("zoo:hiding-two").conserve(x, y, time=0.1, steps=8, halvings=1)
    assert found.to_dict() == theirs


def test_twins_are_equal_and_certificates_hold(tmp_path):
    net = random_network([2, 4, 3, 1], 2)
    twin = net.relabel(seed=5)
    found = fs.equiv(net, twin)
    assert found and twin != net
    found.certificate.save(tmp_path / "proof.json")
    assert fs.check(tmp_path / "proof.json", net, twin).valid
    assert fs.check(fs.Certificate.load(tmp_path / "proof.json"), net, twin)
    asked = fs.check(found.certificate, net, twin, (-1, 1), claim="within=1e-9")
    assert asked and asked.holds and (asked.claim, asked.domain, asked.kind) == ("equivalent", "space", "moves")
    other = fs.check(found.certificate, net, twin, space=True, claim="different")
    assert not other and other.holds and "another claim" in other.reason
    refused = fs.check(found.certificate, twin, net)
    assert not refused and refused.reason
    aligned = fs.align(net, twin, data=np.zeros((3, 2)))
    assert aligned.distance_after == 0 and aligned.barrier_after < 1e-20


def test_a_witness_is_one():
    a, b = fs.load("zoo:hiding-two"), fs.load("zoo:hiding-two-too-far")
    found = fs.equiv(a, b)
    assert not found and found.bound is None
    assert np.allclose(a(found.witness.x), found.witness.a) and np.allclose(b(found.witness.x), found.witness.b)
    assert not np.allclose(found.witness.a, found.witness.b)


def test_rounded_networks_are_equal_up_to_rounding():
    net = random_network([2, 4, 1], 3)
    single = fs.Network([w.astype(np.float32) for w in net.weights], [b.astype(np.float32) for b in net.biases])
    found = fs.equiv(net, single, box=(-1, 1))
    assert found.verdict == "equivalent_up_to_rounding" and 0 < found.bound < 1e-4 and 1024 * found.bound <= found.size
    assert found and found.differ_at is not None and 0 < found.difference <= found.bound
    assert not fs.equiv(net, single, box=(-1, 1), exact=True)
    # Without a box nothing is said about the outputs, but the parameters agree one by one.
    everywhere = fs.equiv(net, single)
    assert (
        everywhere
        and everywhere.bound is None
        and 0 < everywhere.relative < 2**-22
        and everywhere.differ_at is not None
    )
    assert fs.check(everywhere.certificate, net, single).claim == "parameters_agree"


def test_a_bump_outside_an_imagined_box_is_a_difference():
    bumpy = fs.Network([[[1.0], [1.0]], [[1.0, 1000.0]]], [[0.0, -2.0], [0.0]])
    flat = fs.Network([[[1.0]], [[1.0]]], [[0.0], [0.0]])
    found = fs.equiv(bumpy, flat)
    assert not found and found.verdict == "different" and found.difference > 0
    assert fs.equiv(bumpy, flat, box=(-1, 1)).verdict == "equivalent"


def test_a_tolerance_is_a_question_about_that_number():
    a = fs.Network([[[1.0]], [[1.0]]], [[0.0], [0.0]])
    b = fs.Network([[[1.0]], [[1.0]]], [[0.0], [0.25]])
    at = fs.equiv(a, b, box=(-1, 1), tolerance=0.25)
    assert at and at.bound == 0.25 and at.tolerance == 0.25
    below = fs.equiv(a, b, box=(-1, 1), tolerance=np.nextafter(0.25, 0))
    assert not below and below.verdict == "different" and below.difference == 0.25
    nowhere = fs.equiv(a, b, tolerance=0.25)
    assert not nowhere and nowhere.verdict == "undecided" and nowhere.difference == 0.25
    assert fs.equiv(a, b, tolerance=0.1, data=[[0.5]]).verdict == "different"


def test_values_beyond_the_doubles_are_told():
    big = fs.Network([[[1e300]], [[1e300]]], [[0.0], [0.0]])
    zero = fs.Network([[[1.0]], [[0.0]]], [[0.0], [0.0]])
    found = fs.equiv(big, zero, box=(1, 2))
    assert found.verdict == "different" and isinstance(found.difference, str) and found.difference.endswith("e600")
    assert np.isinf(found.witness.a).all()


def test_reduced_and_canonical_networks_have_the_same_function():
    net = fs.load("zoo:cancelling")
    small = net.reduce()
    assert sum(small.widths_after) < sum(small.widths_before)
    assert fs.check(small.certificate, net, small.network)
    assert fs.equiv(net, net.canon().network)


def test_points_and_paths_of_a_fiber():
    net = fs.load("zoo:linear-many")
    fiber = net.fiber(components=4)
    assert fiber.covered and "documentclass" in fiber.latex
    points = fiber.sample(3, exact=True, seed=1)
    assert points.exact == len(points) == 3 and all(point in fiber for point in points)
    path = fiber.path(points[0], points[1], steps=4)
    assert path and len(path) == 5 and path.max_difference < 1e-9
    same = fiber.sample(3, exact=True, seed=1)
    assert [a == b for a, b in zip(points, same)] == [True] * 3
    outside = fs.load("zoo:hiding-two").fiber().contains("zoo:hiding-two-too-far")
    assert not outside and outside.reason


def test_fibers_that_the_theory_does_not_cover_say_so():
    fiber = fs.load("zoo:deep").fiber()
    assert not fiber.covered and fiber.symmetries
    with pytest.raises(fs.UndecidedError, match="does not cover"):
        fiber.sample(2)


def test_constructions_have_their_property():
    built = fs.construct("identifiable", [3, 2, 2, 1])
    assert built.network.folds(box=(-1, 1)).certified_identifiable
    large = fs.construct("identifiable", [12, 10, 8, 1], box=(0, 1))
    found = large.network.folds(box=(0, 1))
    assert found.certified_identifiable is None and found.identifiable_if_general
    assert any("probability one" in claim for claim in large.claims)
    with pytest.raises(fs.ArgumentError):
        fs.construct("hiding", [3, 3, 2, 1], box=(0, 1))
    for kind, widths in [("hiding", [3, 3, 2, 1]), ("nonlocal", [3, 3, 2, 2, 1])]:
        built = fs.construct(kind, widths, seed=3)
        assert fs.check(built.certificate, built.network, built.twin) and built.claims


def test_linear_networks_move_in_their_fiber():
    start = fs.linear.sample([3, 4, 3], 2, integer=True, seed=4)[0]
    product = start.weights[1] @ start.weights[0]
    moves = fs.linear.move(start)
    assert moves.network is None and moves.down
    for points in (
        fs.linear.path(start, steps=3),
        fs.linear.walk(start, steps=3),
        fs.linear.sample([3, 4, 3], 2, product=start),
    ):
        assert all(np.allclose(point.weights[1] @ point.weights[0], product) for point in points)
    lower = fs.linear.move(start, to_minimum=True)
    assert np.allclose(lower.network.weights[1] @ lower.network.weights[0], product)
    apart = fs.linear.path(start, lower.network)
    assert not apart and "strata" in apart.reason
    assert fs.linear.path(start, lower.network, through_minimum=True)


def test_slices_and_blocks():
    net = random_network([4, 5, 2], 6)
    plane = net.slice(origin=[1, 0, 0, 0], directions=[[1, 0, 0, 0], [0, 0, 1, 0]])
    assert np.allclose(plane([0.5, 2.0]), net([1.5, 0.0, 2.0, 0.0]))
    assert net.slice(points=[[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]]).regions(box=(-1, 1)).regions > 0
    active = fs.Network([np.ones((3, 2)), np.ones((1, 3))], [np.full(3, 5.0), np.zeros(1)])
    small = fs.linear.compress(active, 1, (-1, 1))
    x = np.random.default_rng(0).uniform(-1, 1, (9, 2))
    assert small.widths == [2, 1, 1] and np.allclose(small(x), active(x))


def test_limits_stop_long_work_with_an_answer():
    net = random_network([4, 14, 14, 1], 7)
    found = net.regions(box=(-1, 1), max_regions=50)
    assert found.regions is None and found.partial_regions > 0 and found.estimate > 50
    other = random_network([4, 14, 14, 1], 7)
    weights = other.weights
    weights[0] = weights[0] * 2
    weights[1] = weights[1] / 2
    biases = other.biases
    biases[0] = biases[0] * 2
    assert fs.equiv(net, fs.Network(weights, biases), time_limit=30)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_number_of_threads_changes_nothing(threads):
    net = random_network([2, 6, 5, 1], 8)
    x = np.random.default_rng(1).standard_normal((50, 2))
    assert net.functional_dimension(x, threads=threads).to_dict() == net.functional_dimension(x).to_dict()
    assert net.regions(box=(-1, 1), threads=threads).to_dict() == net.regions(box=(-1, 1)).to_dict()


def test_rewriting_says_whether_it_is_exact():
    long = fs.Network([[[1.0], [1.0]], [[0.1, 1e-9]]], [[0.3, 0.3], [0.0]])
    kept = long.reduce()
    assert kept.exact and kept.bound == 0 and kept.widths_after == [1, 2, 1]
    assert kept.rational_widths == [1, 1, 1]
    assert kept.left == [{"layer": 1, "neurons": [1, 2], "step": "merge"}]
    assert fs.equiv(long, kept.network, exact=True)
    rounded = long.reduce(round=True)
    assert not rounded.exact and rounded.bound is None and rounded.certificate is None
    assert 0 < rounded.relative < 2e-16 and rounded.widths_after == [1, 1, 1]
    bounded = long.reduce(box=(-1, 1), round=True)
    assert 0 < bounded.bound < 1e-15 and bounded.certificate is not None
    found = long.canon()
    assert found.complete and not found.exact and found.relative > 0
    assert not fs.load("zoo:deep").canon().complete
    near = fs.align("zoo:deep", "zoo:deep-rounded")
    assert not near.exact and 0 < near.relative < 1e-15 and near.certificate is None
    exactly = fs.align("zoo:deep", "zoo:deep-rounded", scaling="powers-of-two")
    assert exactly.exact and exactly.certificate is not None and exactly.relative is None
    with pytest.raises(fs.errors.ArgumentError):
        fs.align("zoo:deep", "zoo:deep", scaling="half")
