"""Eliminations on a device: the same answers, or a sentence that says why not."""

import warnings

import numpy as np
import pytest

import fiberscope as fs
from fiberscope.errors import ArgumentError, DeviceError

POINTS = [[-1.0], [2.0], [3.0], [4.0]]


def has_gpu():
    try:
        fs.load("zoo:abs").functional_dimension(POINTS, device="cuda")
    except DeviceError:
        return False
    return True


def test_devices_by_name():
    net = fs.load("zoo:abs")
    plain = net.functional_dimension(POINTS)
    assert plain.rank == 3 and plain.device is None
    auto = net.functional_dimension(POINTS, device="auto")
    assert auto.rank == 3 and auto.device.startswith("CPU")
    assert auto.device in " ".join(auto.text.split())
    with pytest.raises(ArgumentError, match="expected cpu, cuda, cuda:N"):
        net.functional_dimension(POINTS, device="gpu")
    with pytest.raises(ArgumentError, match="expected cpu, cuda, cuda:N"):
        fs.Tracker(net, POINTS, device="cuda:-1")


def test_no_gpu_is_an_error_with_cuda_and_a_warning_of_the_tracker_with_auto():
    net = fs.load("zoo:deep")
    points = np.random.default_rng(1).normal(size=(50, net.widths[0]))
    here = fs.Tracker(net, points, every=1).records[0]["functional_dimension"]
    if has_gpu():
        assert net.functional_dimension(points, device="cuda").rank == here
        return
    with pytest.raises(DeviceError, match='device "cuda": .*(driver|GPU)'):
        net.functional_dimension(points, device="cuda")
    with pytest.raises(DeviceError):
        net.functional_dimension(box=(-1, 1), device="cuda")
    with pytest.warns(UserWarning, match="device 'auto': the CPU is used"):
        tracker = fs.Tracker(net, points, every=1, device="auto")
    assert tracker.records[0]["functional_dimension"] == here
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fs.Tracker(net, points, every=1, device="cpu")
