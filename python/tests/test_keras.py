"""Keras files against Keras itself: stored answers, and those of Keras where it is installed."""

from __future__ import annotations

import json
import os
import pathlib
import zipfile

import numpy as np
import pytest

import fiberscope as fs

os.environ.setdefault("KERAS_BACKEND", "torch")
h5py = pytest.importorskip("h5py", reason="h5py is not installed")
try:
    import keras
except ImportError:
    keras = None
needs_keras = pytest.mark.skipif(keras is None, reason="keras is not installed")
L = None if keras is None else keras.layers
DATA = pathlib.Path(__file__).parent / "data" / "keras"


@pytest.mark.parametrize("ending", ["keras", "h5"])
@pytest.mark.parametrize("name", ["cnn", "residual", "wide", "nested"])
def test_stored_models_give_the_stored_answers(name, ending):
    net = fs.load(DATA / f"{name}.{ending}")
    answers = json.loads((DATA / "answers.json").read_text())[name]
    assert np.allclose(net(answers["x"]), answers["y"], atol=1e-5)
    assert any(part and part.startswith("dense") for layer in net.layer_names for part, _ in layer)
    if name == "nested":
        assert net.layer_names[0][0][0].startswith("block.base.conv2d")


def test_a_sequence_that_was_never_built_begins_with_the_weights_of_its_first_layer(tmp_path):
    kernel, bias = np.array([[1, -2], [3, 0.5], [-1, 4]]), np.array([0.25, -1])
    layer = {"class_name": "Dense", "config": {"name": "dense", "use_bias": True, "activation": "relu"}}
    config = {"class_name": "Sequential", "config": {"layers": [layer]}}
    with h5py.File(tmp_path / "net.h5", "w") as file:
        file.attrs["model_config"] = json.dumps(config)
        group = file.create_group("model_weights/dense")
        group["kernel"], group["bias"] = kernel, bias
        group.attrs["weight_names"] = ["kernel", "bias"]
    x = np.array([[1.0, 2, 3], [-1, 0, 2]])
    assert np.array_equal(fs.load(tmp_path / "net.h5")(x), np.maximum(x @ kernel + bias, 0))


def models():
    if keras is None:
        return
    keras.utils.set_random_seed(0)
    yield "dense", keras.Sequential([L.Input((4,)), L.Dense(6, activation="relu"), L.Dropout(0.5), L.Dense(3)]), False
    yield "cnn", keras.Sequential(
        [L.Input((7, 8, 2)), L.Conv2D(4, 3, padding="same", strides=2), L.BatchNormalization(), L.ReLU(max_value=1.0),
         L.DepthwiseConv2D(2, depth_multiplier=2, activation="leaky_relu"), L.MaxPooling2D(2, padding="same"), L.Flatten(),
         L.Dense(5, activation="relu"), L.Dense(3, activation="softmax")]
    ), True  # fmt: skip
    yield "line", keras.Sequential(
        [L.Input((9, 2)), L.Conv1D(3, 3, dilation_rate=2), L.LeakyReLU(negative_slope=0.1), L.AveragePooling1D(2), L.ZeroPadding1D(1),
         L.UpSampling1D(2), L.GlobalMaxPooling1D(), L.Rescaling(2.0, offset=-1.0)]
    ), False  # fmt: skip
    inputs = L.Input((4,))
    first = L.Dense(6, activation="relu")(inputs)
    joined = L.Add()([first, L.Dense(6)(first)])
    both = L.Concatenate()([L.ReLU()(joined), inputs])
    yield "residual", keras.Model(inputs, L.Dense(2)(both)), False


@needs_keras
@pytest.mark.parametrize("ending", ["keras", "h5"])
@pytest.mark.parametrize("case", list(models()), ids=lambda case: case[0])
def test_models_compute_the_same(case, ending, tmp_path):
    _, model, is_classifier = case
    for layer in model.layers:
        if isinstance(layer, L.BatchNormalization):
            layer.set_weights(
                [np.random.default_rng(at).uniform(0.5, 2, w.shape) for at, w in enumerate(layer.get_weights())]
            )
    path = tmp_path / f"model.{ending}"
    model.save(path)
    net = fs.load(path)
    x = np.random.default_rng(0).normal(size=(20, *model.input_shape[1:])).astype(np.float32)
    theirs = np.asarray(model.predict(x, verbose=0))
    ours = net(x.reshape(20, -1))
    if is_classifier:
        ours = np.exp(ours - ours.max(1, keepdims=True))
        ours /= ours.sum(1, keepdims=True)
    assert np.allclose(ours, theirs, atol=1e-5)
    names = [name for layer in net.layer_names for name, _ in layer]
    assert any(name and name.startswith(("dense", "conv")) for name in names)


@needs_keras
def test_others_are_refused(tmp_path):
    model = keras.Sequential([L.Input((4,)), L.Dense(3, activation="gelu"), L.Dense(1)])
    model.save(tmp_path / "gelu.keras")
    with pytest.raises(
        fs.UnsupportedLayerError, match=r"layer dense\w* \(Dense\): the activation 'gelu' is not piecewise linear"
    ):
        fs.load(tmp_path / "gelu.keras")
    model = keras.Sequential([L.Input((4, 3)), L.LSTM(3)])
    model.save(tmp_path / "lstm.keras")
    with pytest.raises(fs.UnsupportedLayerError, match=r"\(LSTM\): this layer is not piecewise linear"):
        fs.load(tmp_path / "lstm.keras")
    model.save_weights(tmp_path / "only.weights.h5")
    with pytest.raises(fs.ModelFileError, match="weights without the layers"):
        fs.load(tmp_path / "only.weights.h5")


def test_broken_files_are_refused(tmp_path):
    (tmp_path / "broken.keras").write_bytes(b"PK nothing")
    (tmp_path / "broken.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    with zipfile.ZipFile(tmp_path / "empty.keras", "w") as archive:
        archive.writestr("config.json", "[]")
    with zipfile.ZipFile(tmp_path / "odd.keras", "w") as archive:
        archive.writestr("config.json", '{"class_name": "Sequential"}')
        archive.writestr("model.weights.h5", b"nothing")
    with zipfile.ZipFile(tmp_path / "deep.keras", "w") as archive:
        archive.writestr("config.json", '{"class_name": "Sequential", "config": ' * 100_000)
        archive.writestr("model.weights.h5", b"nothing")
    for name in ("broken.keras", "broken.h5", "empty.keras", "odd.keras", "deep.keras"):
        with pytest.raises(fs.ModelFileError, match=name):
            fs.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        fs.load(tmp_path / "missing.keras")


def test_configurations_that_do_not_fit_are_refused(tmp_path):
    whole = zipfile.ZipFile(DATA / "cnn.keras")
    config, weights = json.loads(whole.read("config.json")), whole.read("model.weights.h5")

    def changed(at, **values):
        other = json.loads(json.dumps(config))
        other["config"]["layers"][at]["config"].update(values)
        with zipfile.ZipFile(tmp_path / "net.keras", "w") as archive:
            archive.writestr("config.json", json.dumps(other))
            archive.writestr("model.weights.h5", weights)
        return tmp_path / "net.keras"

    for at, values in [
        (1, {"strides": [0, 0]}), (1, {"padding": "causal"}), (1, {"groups": 7}), (1, {"use_bias": False}), (1, {"name": "other"}),
        (0, {"batch_shape": [None, None, 5, 2]}), (0, {"batch_shape": [None, 10**9, 10**9, 2]}), (2, {"epsilon": "x"}), (7, {"activation": 3}),
    ]:  # fmt: skip
        with pytest.raises((fs.UnsupportedLayerError, fs.ModelFileError), match="net.keras"):
            fs.load(changed(at, **values))
