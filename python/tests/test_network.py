"""Networks: numpy in and out, files against other libraries, pickling."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from conftest import ROOT, random_network, slow

import fiberscope as fs


def test_outputs_are_numpys():
    net = random_network([3, 7, 5, 2], 1)
    x = np.random.default_rng(2).standard_normal((1000, 3))
    assert np.allclose(net(x), slow(net, x), rtol=1e-12, atol=1e-12)
    assert net(x[0]).shape == (2,) and np.allclose(net(x[0]), net(x)[0])
    assert net(np.empty((0, 3))).shape == (0, 2)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.astype(np.float32).astype(np.float64),
        lambda x: np.asfortranarray(x),
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: x[::-1][::-1],
        lambda x: x.tolist(),
        lambda x: np.ma.masked_array(x),
    ],
)
def test_every_layout_of_an_array_is_read(change):
    net = random_network([3, 4, 2], 3)
    x = np.round(np.random.default_rng(4).standard_normal((10, 3)), 3).astype(np.float32).astype(float)
    assert np.allclose(net(change(x)), slow(net, x), rtol=1e-12, atol=1e-12)


def test_contiguous_doubles_are_not_copied():
    from fiberscope._arrays import doubles

    x = np.zeros((4, 3))
    assert doubles(x, "x") is x or doubles(x, "x").base is x or np.shares_memory(doubles(x, "x"), x)


def test_weights_come_back_bit_for_bit():
    net = random_network([2, 3, 1], 5, np.float32)
    assert net.precision == "f32" and net.widths == [2, 3, 1] and net.parameter_count == 13
    again = fs.Network(net.weights, net.biases, net.activations)
    assert again == net and hash(again) == hash(net) and again.precision == "f64"
    assert net != random_network([2, 3, 1], 6)


@pytest.mark.parametrize("ending", ["json", "npz", "safetensors", "onnx"])
def test_files_keep_every_bit(tmp_path, ending):
    net = random_network([4, 5, 3, 2], 7)
    path = tmp_path / f"net.{ending}"
    assert net.save(path).rounded == 0
    assert fs.load(path) == net
    small = tmp_path / f"small.{ending}"
    saved = net.save(small, precision="f32")
    assert (saved.rounded == 0) == (ending == "json")


def test_onnxruntime_agrees(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    net = random_network([3, 6, 4, 2], 8, np.float32)
    net.save(tmp_path / "net.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "net.onnx"), providers=["CPUExecutionProvider"])
    x = np.random.default_rng(9).standard_normal((20, 3)).astype(np.float32)
    (theirs,) = session.run(None, {session.get_inputs()[0].name: x})
    assert np.allclose(theirs, net(x), rtol=1e-4, atol=1e-5)


def test_onnx_models_are_read_from_memory(tmp_path):
    onnx = pytest.importorskip("onnx")
    net = random_network([3, 6, 2], 10)
    net.save(tmp_path / "net.onnx")
    model = onnx.load(tmp_path / "net.onnx")
    for given in (model, model.SerializeToString(), tmp_path / "net.onnx", str(tmp_path / "net.onnx")):
        assert fs.from_onnx(given) == net


def test_safetensors_are_read_and_written(tmp_path):
    numpy_files = pytest.importorskip("safetensors.numpy")
    net = random_network([3, 6, 2], 11, np.float32)
    net.save(tmp_path / "net.safetensors")
    tensors = numpy_files.load_file(tmp_path / "net.safetensors")
    assert {name: tensor.dtype for name, tensor in tensors.items()} == dict.fromkeys(tensors, np.dtype(np.float32))
    names = {"0.weight": net.weights[0], "0.bias": net.biases[0], "2.weight": net.weights[1], "2.bias": net.biases[1]}
    numpy_files.save_file({k: np.ascontiguousarray(v) for k, v in names.items()}, tmp_path / "torch.safetensors")
    assert fs.load(tmp_path / "torch.safetensors") == net


def test_a_state_dict_that_pytorch_wrote_is_read():
    net = fs.load(ROOT / "crates/fiberscope-io/tests/data/pt/f32.pt")
    assert net.precision == "f32" and len(net.widths) > 2


def test_pickles_and_copies_are_equal():
    net = random_network([2, 3, 1], 12, np.float32)
    for again in (pickle.loads(pickle.dumps(net)), copy.deepcopy(net), copy.copy(net)):
        assert again == net and again.precision == "f32" and again.name == net.name


def test_pickles_keep_what_the_file_said():
    net = fs.load(ROOT / "crates/fiberscope-io/tests/data/onnx/graphs/softmax.onnx")
    assert net.notes and net.layer_names
    again = pickle.loads(pickle.dumps(net))
    assert (again.notes, again.layer_names, again.name) == (net.notes, net.layer_names, net.name)
    assert again.neuron_name(1, 2) == net.neuron_name(1, 2)
    found, kept = (fs.equiv(each, each).data["set_aside"] for each in (net, again))
    assert found == kept and list(found) == [net.name]


def test_json_survives():
    net = fs.load("zoo:deep")
    assert fs.Network.from_json(net.to_json()) == net
    linear = fs.Network([np.eye(2), np.eye(2)], activations=["identity", "identity"])
    assert fs.Network.from_json(linear.to_json()).activations == ["identity", "identity"]


def test_data_files_are_read(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    np.save(tmp_path / "a.npy", np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert np.array_equal(fs.load_data(tmp_path / "a.csv"), fs.load_data(tmp_path / "a.npy"))


def test_texts_for_people():
    net = fs.load("zoo:hiding-two")
    assert repr(net) == "Network(3-3-2-1, relu, 23 parameters, f64)"
    assert "<pre>" in net._repr_html_() and "identifiable" in net._repr_html_()
    assert "<table>" in fs.equiv(net, net)._repr_html_()
    regions = fs.load("zoo:deep").regions(box=(-1, 1))
    assert regions._repr_svg_().startswith("<svg") and "data:image/svg+xml" in regions._repr_html_()
