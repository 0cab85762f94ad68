"""The tracker without PyTorch: records, CSV, event files, pictures."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from conftest import random_network

import fiberscope as fs


def test_records_are_what_the_questions_answer(tmp_path):
    x = np.random.default_rng(0).standard_normal((60, 2))
    nets = [random_network([2, 5, 4, 1], seed) for seed in range(3)]
    tracker = fs.Tracker(nets[0], x, every=1, csv=tmp_path / "run.csv")
    for k, net in enumerate(nets[1:], 1):
        tracker.model = net
        tracker.step(loss=1 / k)
    tracker.close()
    for net, record in zip(nets, tracker.records):
        found = net.functional_dimension(x)
        assert record["functional_dimension"] == found.rank
        assert record["regions"] == found.regions_sampled
        layers = found.data["layers"]
        assert record["linear"] == sum(layer["active"] for layer in layers)
        assert record["dead"] == sum(layer["inactive"] for layer in layers)
    with open(tmp_path / "run.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["step"] for row in rows] == ["0", "1", "2"]
    assert [row["loss"] for row in rows] == ["", "1.0", "0.5"]
    assert [int(row["regions"]) for row in rows] == [record["regions"] for record in tracker.records]


def test_scaling_a_neuron_is_drift():
    net = random_network([2, 3, 1], 1)
    tracker = fs.Tracker(net, np.ones((4, 2)), every=1, dimension_every=0)
    weights = net.weights
    weights[1] = 2 * weights[1]
    tracker.model = fs.Network(weights, net.biases)
    tracker.step()
    first, second = tracker.records
    assert first["drift"] == 0 and first["functional_dimension"] is None
    assert np.isclose(second["drift"], 3 * (net.weights[1] ** 2).max())
    assert np.isclose(second["conserved_1"] - first["conserved_1"], 3 * (net.weights[1] ** 2).sum())


def test_event_files_are_read_by_tensorboard(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with fs.Tracker(random_network([2, 3, 1], 2), np.ones((4, 2)), every=2, tensorboard=tmp_path) as tracker:
        for _ in range(4):
            tracker.step(loss=0.25)
    events = accumulator.EventAccumulator(str(tmp_path))
    events.Reload()
    regions = events.Scalars("fiberscope/regions")
    assert [(event.step, event.value) for event in regions] == [(0, 1.0), (2, 1.0), (4, 1.0)]
    assert [event.value for event in events.Scalars("fiberscope/loss")] == [0.25, 0.25]


@pytest.mark.parametrize("inputs", [1, 2])
def test_plots_are_axes(inputs, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    net = random_network([inputs, 5, 4, 1], 3)
    ax = net.plot(box=(-1, 1))
    assert ax.get_title() and ax.get_legend() is not None
    if inputs == 2:
        polygons = ax.collections[0]
        assert len(polygons.get_paths()) == net.regions(box=(-1, 1)).regions
    _, own = plt.subplots()
    assert net.plot(ax=own, weights=True) is own
    own.figure.savefig(tmp_path / "net.png")
    plt.close("all")
    with pytest.raises(fs.ArgumentError, match="draw a slice"):
        random_network([3, 2, 1], 4).plot()
