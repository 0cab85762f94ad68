"""Keras files (.keras, .h5) as ONNX graphs: Sequential and Functional models of dense, convolutional and pooling layers.

The configuration is JSON and the weights are HDF5, which `h5py` reads; Keras itself is not needed and nothing in a file is
run. Images have their channels last: around a convolution stand two transpositions, which are free.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._onnx import Graph
from .errors import ModelFileError, UnsupportedLayerError

MOST_CONFIG = 1 << 26
"""More bytes than the configuration of a model that can be read has."""


def onnx_model(path: str) -> tuple[bytes, str, str, list[str]]:
    """The model of a file as the bytes of an ONNX model, its name, the name of its output, and notes."""
    try:
        import h5py
    except ImportError as error:
        raise ModelFileError(
            f"{path}: Keras files are read with h5py (pip install h5py), or export the model: model.export('model.onnx', format='onnx')"
        ) from error
    if not Path(path).exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    try:
        if zipfile.is_zipfile(path):
            config, weights = _zipped(path)
            with h5py.File(io.BytesIO(weights), "r") as file:
                made = _Model(config, _Kept(file, config)).graph()
        else:
            with h5py.File(path, "r") as file:
                if "model_config" not in file.attrs:
                    raise ModelFileError(
                        f"{path}: it holds weights without the layers they belong to; save the whole model with model.save('model.keras')"
                    )
                config = _parsed(file.attrs["model_config"])
                made = _Model(config, _Legacy(file)).graph()
    except (UnsupportedLayerError, ModelFileError) as error:
        text = str(error)
        raise type(error)(text if text.startswith(path) else f"{path}: {text}") from None
    except (OSError, zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
        raise ModelFileError(
            f"{path}: it is no Keras model that can be read ({type(error).__name__}: {error})"
        ) from None
    return made, path, "output", []


def _zipped(path: str) -> tuple[Any, bytes]:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        for name in ("config.json", "model.weights.h5"):
            if name not in names:
                raise ModelFileError(f"{path}: expected {name} in it, as model.save('model.keras') writes it")
        if archive.getinfo("config.json").file_size > MOST_CONFIG:
            raise ModelFileError(f"{path}: its config.json is larger than {MOST_CONFIG} bytes")
        size, packed = (getattr(archive.getinfo("model.weights.h5"), key) for key in ("file_size", "compress_size"))
        if size > 64 * max(packed, 1 << 20):
            raise ModelFileError(f"{path}: model.weights.h5 unpacks to {size} bytes, which weights do not")
        return _parsed(archive.read("config.json")), archive.read("model.weights.h5")


def _parsed(text: Any) -> Any:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ModelFileError("expected the configuration of a model")
    return found


def _snake(name: str) -> str:
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def _numbered(group: Any) -> list[np.ndarray]:
    return [np.asarray(group[key]) for key in sorted(group, key=int)]


class _Kept:
    """The weights of a .keras file, by the names of layers."""

    def __init__(self, file: Any, config: Any) -> None:
        self.places: dict[str, Any] = {}
        layers = file["layers"] if "layers" in file else file["_layer_checkpoint_dependencies"]
        named = {}
        for key in layers:
            group = layers[key]
            name = group["vars"].attrs.get("name") if "vars" in group else None
            if name is not None:
                named[name.decode() if isinstance(name, bytes) else str(name)] = group["vars"]
        counts: dict[str, int] = {}
        for layer in config["config"]["layers"]:
            kind, name = _snake(layer["class_name"]), layer["config"]["name"]
            at = counts.get(kind, 0)
            counts[kind] = at + 1
            key = f"{kind}_{at}" if at else kind
            # Files of older versions do not name their layers: they count them by class.
            if name in named:
                self.places[name] = named[name]
            elif not named and key in layers and "vars" in layers[key]:
                self.places[name] = layers[key]["vars"]

    def of(self, name: str) -> list[np.ndarray]:
        return _numbered(self.places[name]) if name in self.places else []


class _Legacy:
    """The weights of a .h5 file."""

    def __init__(self, file: Any) -> None:
        self.group = file["model_weights"]

    def of(self, name: str) -> list[np.ndarray]:
        if name not in self.group:
            return []
        own = self.group[name]
        keys = [each.decode() if isinstance(each, bytes) else str(each) for each in own.attrs["weight_names"]]
        return [np.asarray(own[key]) for key in keys]


Rule = Callable[["_Model", dict[str, Any], list[np.ndarray], list[str]], str]


class _Model:
    """A model on its way to ONNX."""

    def __init__(self, config: Any, weights: _Kept | _Legacy) -> None:
        if config["class_name"] not in ("Sequential", "Functional", "Model"):
            raise UnsupportedLayerError(
                f"{config['class_name']}: expected a Sequential or Functional model; export others: model.export('model.onnx', format='onnx')"
            )
        self.config, self.weights = config, weights
        self.made = Graph()
        self.ranks: dict[str, int] = {}
        self.name, self.kind = "", ""
        self._count = 0

    def graph(self) -> bytes:
        outputs = self.sequential() if self.config["class_name"] == "Sequential" else self.functional()
        if len(outputs) != 1:
            raise UnsupportedLayerError(f"expected a model with one output, found {len(outputs)}")
        self.made.node("Identity", "output", outputs, "output")
        return self.made.model(["output"])

    def sequential(self) -> list[str]:
        value: str | None = None
        for layer in self.config["config"]["layers"]:
            if value is None:
                value = self.input(layer)
                if layer["class_name"] == "InputLayer":
                    continue
            value = self.layer(layer, [value])
        if value is None:
            raise UnsupportedLayerError("the model has no layers")
        return [value]

    def functional(self) -> list[str]:
        values: dict[str, str] = {}
        waiting = list(self.config["config"]["layers"])
        while waiting:
            left = []
            for layer in waiting:
                name = layer.get("name") or layer["config"]["name"]
                calls = layer.get("inbound_nodes") or []
                if len(calls) > 1:
                    raise UnsupportedLayerError(f"layer {name}: it is used {len(calls)} times, which is not read")
                before = _history(calls)
                if layer["class_name"] == "InputLayer":
                    values[name] = self.input(layer)
                elif all(each in values for each in before):
                    values[name] = self.layer(layer, [values[each] for each in before])
                else:
                    left.append(layer)
            if len(left) == len(waiting):
                raise UnsupportedLayerError("the layers read each other in a circle")
            waiting = left
        ends = self.config["config"]["output_layers"]
        ends = [ends] if ends and isinstance(ends[0], str) else ends
        return [values[each[0]] for each in ends]

    def input(self, layer: Any) -> str:
        config = layer["config"]
        shape = (
            config.get("batch_shape")
            or config.get("batch_input_shape")
            or (layer.get("build_config") or {}).get("input_shape")
        )
        if not shape or any(not isinstance(size, int) or size < 1 for size in shape[1:]):
            raise UnsupportedLayerError(
                f"layer {config.get('name')}: the shape of the input is not known; build the model before saving it"
            )
        name = str(config.get("name", "input")) if layer["class_name"] == "InputLayer" else "input"
        self.ranks[name] = len(shape)
        return self.made.input(name, [1, *shape[1:]])

    def layer(self, layer: Any, values: list[str]) -> str:
        self.kind, config = layer["class_name"], layer["config"]
        self.name = str(config["name"])
        rule = RULES.get(self.kind)
        if rule is None:
            raise self.refuse("this layer is not read; export the model: model.export('model.onnx', format='onnx')")
        if config.get("data_format") not in (None, "channels_last"):
            raise self.refuse("expected channels last")
        value = rule(self, config, self.weights.of(self.name), values)
        if self.kind not in ("Activation", "Softmax") and "activation" in config:
            value = self.activation(config["activation"], value)
        return value

    def refuse(self, reason: str) -> UnsupportedLayerError:
        return UnsupportedLayerError(f"layer {self.name} ({self.kind}): {reason}")

    def node(self, operator: str, inputs: Sequence[str], rank: int | None = None, **attributes: Any) -> str:
        self._count += 1
        made = self.made.node(operator, self.name, inputs, f"%{self._count}", **attributes)
        self.ranks[made] = self.ranks[inputs[0]] if rank is None else rank
        return made

    def number(self, value: Any, role: str = "constant") -> str:
        array = np.asarray(value)
        kind = array.dtype if array.dtype in (np.float16, np.float32, np.float64, np.int64) else np.float32
        return self.made.constant(f"{self.name}.{role}", array.astype(kind))

    def scalar(self, value: float) -> str:
        self._count += 1
        return self.made.constant(f"{self.name}.%{self._count}", np.array(value, dtype=np.float32))

    def integers(self, values: Sequence[int]) -> str:
        self._count += 1
        return self.made.constant(f"{self.name}.%{self._count}", np.array(values, dtype=np.int64))

    def weights_of(self, weights: list[np.ndarray], count: int) -> list[np.ndarray]:
        if len(weights) != count:
            raise self.refuse(f"expected {count} weights in the file, found {len(weights)}")
        return weights

    def activation(self, given: Any, value: str) -> str:
        if isinstance(given, dict):
            config = given.get("config")
            given = config if isinstance(config, str) else given.get("class_name", "")
        if given in (None, "linear"):
            return value
        if given == "relu":
            return self.node("Relu", [value])
        if given == "relu6":
            return self.node("Clip", [value, self.scalar(0), self.scalar(6)])
        if given == "leaky_relu":
            return self.node("PRelu", [value, self.scalar(0.2)])
        if given == "hard_sigmoid":
            shifted = self.node("Add", [value, self.scalar(3)])
            return self.node("Div", [self.node("Clip", [shifted, self.scalar(0), self.scalar(6)]), self.scalar(6)])
        heads = {"softmax": "Softmax", "sigmoid": "Sigmoid", "log_softmax": "LogSoftmax"}
        if given in heads:
            return self.node(heads[given], [value])
        raise self.refuse(f"the activation {given!r} is not piecewise linear")

    # Images.

    def first(self, value: str) -> str:
        """The channels first."""
        rank = self.ranks[value]
        return self.node("Transpose", [value], perm=[0, rank - 1, *range(1, rank - 1)])

    def last(self, value: str) -> str:
        rank = self.ranks[value]
        return self.node("Transpose", [value], perm=[0, *range(2, rank), 1])

    def padding(self, config: dict[str, Any]) -> str:
        words = {"valid": "VALID", "same": "SAME_UPPER"}
        if config["padding"] not in words:
            raise self.refuse(f"the padding {config['padding']!r} is not read")
        return words[config["padding"]]


def _history(calls: Any) -> list[str]:
    """The layers whose values a layer reads, in order."""
    found: list[str] = []
    stack = [calls]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            if "keras_history" in part:
                found.append(str(part["keras_history"][0]))
            else:
                stack.extend(reversed(list(part.values())))
        elif isinstance(part, (list, tuple)):
            if len(part) >= 3 and isinstance(part[0], str) and isinstance(part[1], int):
                found.append(part[0])
            else:
                stack.extend(reversed(part))
    return found


RULES: dict[str, Rule] = {}


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return register


@_rule("Dense")
def _dense(m: _Model, config: dict[str, Any], weights: list[np.ndarray], values: list[str]) -> str:
    kernel, *bias = m.weights_of(weights, 2 if config["use_bias"] else 1)
    if m.ranks[values[0]] == 2:
        inputs = [values[0], m.number(kernel.T, "weight")] + [m.number(each, "bias") for each in bias]
        return m.node("Gemm", inputs, transB=1)
    value = m.node("MatMul", [values[0], m.number(kernel, "weight")])
    return m.node("Add", [value, m.number(bias[0], "bias")]) if bias else value


@_rule("Conv1D", "Conv2D", "Conv3D", "DepthwiseConv1D", "DepthwiseConv2D")
def _conv(m: _Model, config: dict[str, Any], weights: list[np.ndarray], values: list[str]) -> str:
    kernel, *bias = m.weights_of(weights, 2 if config["use_bias"] else 1)
    axes = kernel.ndim - 2
    groups = int(config.get("groups") or 1)
    if m.kind.startswith("Depthwise"):
        # (..., inputs, multiplier) is one group per input.
        groups = kernel.shape[-2]
        kernel = kernel.reshape(*kernel.shape[:-2], 1, -1)
    if config.get("padding") == "causal":
        raise m.refuse("causal padding is not read")
    turned = np.ascontiguousarray(np.moveaxis(kernel, (-1, -2), (0, 1)))
    inputs = [m.first(values[0]), m.number(turned, "weight")] + [m.number(each, "bias") for each in bias]
    made = m.node(
        "Conv", inputs, kernel_shape=list(turned.shape[2:]), strides=_sizes(config["strides"], axes), auto_pad=m.padding(config),
        dilations=_sizes(config["dilation_rate"], axes), group=groups,
    )  # fmt: skip
    return m.last(made)


def _sizes(given: Any, axes: int) -> list[int]:
    return [int(given)] * axes if isinstance(given, int) else [int(each) for each in given]


@_rule("MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "AveragePooling1D", "AveragePooling2D", "AveragePooling3D")
def _pool(m: _Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    axes = m.ranks[values[0]] - 2
    kernel = _sizes(config["pool_size"], axes)
    strides = _sizes(config["strides"], axes) if config.get("strides") else kernel
    operator = "MaxPool" if m.kind.startswith("Max") else "AveragePool"
    made = m.node(operator, [m.first(values[0])], kernel_shape=kernel, strides=strides, auto_pad=m.padding(config))
    return m.last(made)


@_rule("GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D",
       "GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D")  # fmt: skip
def _global(m: _Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    rank, keep = m.ranks[values[0]], bool(config.get("keepdims"))
    operator = "ReduceMax" if "Max" in m.kind else "ReduceMean"
    return m.node(operator, values, rank if keep else 2, axes=list(range(1, rank - 1)), keepdims=int(keep))


@_rule("BatchNormalization")
def _batch_norm(m: _Model, config: dict[str, Any], weights: list[np.ndarray], values: list[str]) -> str:
    scale, center = bool(config["scale"]), bool(config["center"])
    left = m.weights_of(weights, 2 + scale + center)
    gamma = left.pop(0) if scale else None
    beta = left.pop(0) if center else None
    mean, variance = left
    axis = config["axis"][0] if isinstance(config["axis"], list) else config["axis"]
    if axis not in (-1, m.ranks[values[0]] - 1):
        raise m.refuse(f"expected it to act on the last axis, found axis {axis}")
    gamma = np.ones_like(mean) if gamma is None else gamma
    beta = np.zeros_like(mean) if beta is None else beta
    # Epsilon is a double here and a single in ONNX: it goes into the variance.
    spread = variance.astype(np.float64) + float(config["epsilon"])
    is_image = m.ranks[values[0]] > 2
    value = m.first(values[0]) if is_image else values[0]
    inputs = [value] + [
        m.number(each, role) for each, role in zip((gamma, beta, mean, spread), ("gamma", "beta", "mean", "variance"))
    ]
    value = m.node("BatchNormalization", inputs, epsilon=0.0)
    return m.last(value) if is_image else value


@_rule("ReLU")
def _relu(m: _Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    slope = config.get("negative_slope") or 0.0
    if config.get("threshold"):
        raise m.refuse("a threshold that is not 0 makes it jump: no ReLU network does")
    high = config.get("max_value")
    value = m.node("PRelu", [values[0], m.scalar(slope)]) if slope else m.node("Relu", values)
    return value if high is None else m.node("Clip", [value, "", m.scalar(high)])


@_rule("LeakyReLU")
def _leaky(m: _Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    slope = config.get("negative_slope", config.get("alpha", 0.3))
    return m.node("PRelu", [values[0], m.scalar(float(slope))])


@_rule("PReLU")
def _prelu(m: _Model, config: dict[str, Any], weights: list[np.ndarray], values: list[str]) -> str:
    (slope,) = m.weights_of(weights, 1)
    return m.node("PRelu", [values[0], m.number(slope, "alpha")])


@_rule("Activation")
def _activation(m: _Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    return m.activation(config["activation"], values[0])


@_rule("Softmax")
def _softmax(m: _Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    return m.node("Softmax", values)


@_rule("Flatten")
def _flatten(m: _Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    return m.node("Flatten", values, 2)


@_rule("Reshape")
def _reshape(m: _Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    target = [int(each) for each in config["target_shape"]]
    return m.node("Reshape", [values[0], m.integers([1, *target])], 1 + len(target))


@_rule("Permute")
def _permute(m: _Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    return m.node("Transpose", values, perm=[0, *(int(each) for each in config["dims"])])


@_rule("Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "GaussianDropout", "GaussianNoise", "AlphaDropout",
       "ActivityRegularization", "Identity")  # fmt: skip
def _nothing(m: _Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    return values[0]


@_rule("ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D")
def _zero_padding(m: _Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    given = config["padding"]
    sides = [given] if isinstance(given, list) and given and isinstance(given[0], int) else given
    pairs = [(int(low), int(high)) for low, high in sides]
    lows, highs = [0, *(low for low, _ in pairs), 0], [0, *(high for _, high in pairs), 0]
    return m.node("Pad", [values[0], m.integers(lows + highs), m.scalar(0)])


@_rule("UpSampling1D", "UpSampling2D", "UpSampling3D")
def _upsampling(m: _Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    if config.get("interpolation", "nearest") != "nearest":
        raise m.refuse("expected the interpolation nearest")
    factors = _sizes(config["size"], m.ranks[values[0]] - 2)
    m._count += 1
    scales = m.made.constant(f"{m.name}.%{m._count}", np.array([1, *factors, 1], dtype=np.float32))
    return m.node(
        "Resize",
        [values[0], "", scales],
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )


@_rule("Add", "Subtract", "Average", "Maximum", "Minimum", "Concatenate")
def _merge(m: _Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    words = {"Add": "Sum", "Subtract": "Sub", "Average": "Mean", "Maximum": "Max", "Minimum": "Min"}
    if m.kind == "Concatenate":
        return m.node("Concat", values, axis=int(config.get("axis", -1)))
    return m.node(words[m.kind], values)


@_rule("Rescaling")
def _rescaling(m: _Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    return m.node("Add", [m.node("Mul", [values[0], m.scalar(config["scale"])]), m.scalar(config["offset"])])


@_rule("Normalization")
def _normalization(m: _Model, config: dict[str, Any], weights: list[np.ndarray], values: list[str]) -> str:
    if config.get("invert") or len(weights) < 2:
        raise m.refuse("expected a normalisation that was adapted to data, and is not inverted")
    mean, variance = weights[:2]
    centred = m.node("Sub", [values[0], m.number(mean, "mean")])
    return m.node("Div", [centred, m.number(np.maximum(np.sqrt(variance), np.float32(1e-7)), "deviation")])
