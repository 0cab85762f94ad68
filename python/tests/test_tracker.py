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


def descend(net: fs.Network, x: np.ndarray, y: np.ndarray, rate: float, steps: int):
    """Gradient descent on the mean squared error, by hand: networks, and what each step must add to |w_out|^2 - |w_in|^2 - b^2."""
    weights, biases = [w.copy() for w in net.weights], [b.copy() for b in net.biases]
    for _ in range(steps):
        inputs, masks, a = [], [], x
        for w, b in zip(weights[:-1], biases[:-1]):
            inputs.append(a)
            z = a @ w.T + b
            masks.append(z > 0)
            a = np.maximum(z, 0)
        inputs.append(a)
        delta = 2 * (a @ weights[-1].T + biases[-1] - y) / y.size
        gradients = []
        for layer in reversed(range(len(weights))):
            gradients.append((delta.T @ inputs[layer], delta.sum(axis=0)))
            if layer > 0:
                delta = (delta @ weights[layer]) * masks[layer - 1]
        gradients.reverse()
        second_order = [
            rate**2 * ((g_out[0] ** 2).sum(axis=0) - (g_in[0] ** 2).sum(axis=1) - g_in[1] ** 2)
            for g_in, g_out in zip(gradients, gradients[1:])
        ]
        for w, b, (gw, gb) in zip(weights, biases, gradients):
            w -= rate * gw
            b -= rate * gb
        yield fs.Network([w.copy() for w in weights], [b.copy() for b in biases]), second_order


def test_a_step_of_gradient_descent_drifts_by_its_square():
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((30, 2)), rng.standard_normal((30, 1))
    net = random_network([2, 5, 4, 1], 5)
    trackers = {}
    for rate, steps in [(0.02, 50), (0.01, 100), (0.005, 200)]:
        tracker = trackers[rate] = fs.Tracker(net, x, every=1, dimension_every=0)
        total = [np.zeros(5), np.zeros(4)]
        for moved, second_order in descend(net, x, y, rate, steps):
            total = [a + b for a, b in zip(total, second_order)]
            tracker.model = moved
            tracker.step()
            assert np.isclose(
                tracker.records[-1]["drift"], max(np.abs(each).max() for each in total), rtol=1e-6, atol=1e-13
            )
    found = trackers[0.02].dynamics(by_step=trackers)
    assert [each["step"] for each in found.drift_by_step] == [0.02, 0.01, 0.005]
    assert all(0.8 < order < 1.2 for order in found.orders), found.orders
    assert "Drift and step" in found.svg


def test_dynamics_tell_when_neurons_change():
    x = np.linspace(-1, 1, 9)[:, None]
    net = fs.Network([[[1.0], [1.0], [1.0]], [[1.0, 1.0, 1.0]]], [[0.0, 0.0, 2.0], [0.0]])
    tracker = fs.Tracker(net, x, every=1)
    tracker.model = fs.Network(net.weights, [[0.0, -2.0, 2.0], [0.0]])
    tracker.step(loss=1.0)
    tracker.step(loss=float("inf"))
    tracker.model = fs.Network(net.weights, [[3.0, 0.5, 2.0], [0.0]])
    tracker.step(loss=0.5)
    found = tracker.dynamics()
    neurons = [(e["after"], e["until"], e["neuron"], e["before"], e["now"]) for e in found.events if "neuron" in e]
    assert neurons == [
        (0, 1, 2, "nonlinear", "dead"),
        (2, 3, 1, "nonlinear", "linear"),
        (2, 3, 2, "dead", "nonlinear"),
    ]
    ranks = [net.functional_dimension(x).rank] + [record["functional_dimension"] for record in tracker.records[1:]]
    changes = [(e["until"], e["functional_dimension"]) for e in found.events if "neuron" not in e]
    assert changes == [(k, rank) for k, rank in enumerate(ranks) if k and rank != ranks[k - 1]]
    assert all(e["kernel_dimension"] == 10 - e["functional_dimension"] for e in found.events if "neuron" not in e)
    assert found.largest_drift[0]["neuron"] == 1 and np.isclose(found.largest_drift[0]["change"], -9.0)
    assert "1 to dead, 1 to linear, 1 to nonlinear" in str(found)
