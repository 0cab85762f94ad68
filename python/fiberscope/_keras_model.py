"""Keras models on their way to ONNX: layer by layer, each by its rule.

Images have their channels last: around a convolution stand two transpositions, which are free.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ._onnx import Graph
from .errors import UnsupportedLayerError


class Weights(Protocol):
    """The weights of a file."""

    def of(self, name: str) -> list[np.ndarray]:
        """Those of a layer, in the order in which it made them."""

    def inside(self, name: str) -> Weights:
        """Those of a layer that is a model itself."""


MODELS = ("Sequential", "Functional", "Model")

DEEPEST = 32
"""Models in models are followed so far."""

NONLINEAR = frozenset(
    ["ELU", "GRU", "LSTM", "Attention", "AdditiveAttention", "MultiHeadAttention", "Dot", "Multiply",
     "GroupNormalization", "LayerNormalization", "UnitNormalization"]
)  # fmt: skip

Rule = Callable[["Model", dict[str, Any], list[np.ndarray], list[str]], str]


class Model:
    """A model on its way to ONNX."""

    def __init__(self, config: Any, weights: Weights) -> None:
        if config["class_name"] not in MODELS:
            raise UnsupportedLayerError(
                f"{config['class_name']}: expected a Sequential or Functional model; export others: model.export('model.onnx', format='onnx')"
            )
        self.config, self.weights = config, weights
        self.made = Graph()
        self.ranks: dict[str, int] = {}
        self.name, self.kind = "", ""
        self.path: tuple[str, ...] = ()
        self._count = 0

    def graph(self) -> bytes:
        (output,) = self.body(self.config, None)
        self.made.node("Identity", "output", [output], "output")
        return self.made.model(["output"])

    def body(self, model: Any, given: list[str] | None) -> list[str]:
        """The output of a model, of the values that it is given or of inputs of its own."""
        run = self.sequential if model["class_name"] == "Sequential" else self.functional
        outputs = run(model["config"], given)
        if len(outputs) != 1:
            raise UnsupportedLayerError(f"expected a model with one output, found {len(outputs)}")
        return outputs

    def inner(self, model: Any, given: list[str]) -> str:
        """A model that is a layer of another one."""
        if len(self.path) == DEEPEST:
            raise UnsupportedLayerError(f"more than {DEEPEST} models are nested")
        name = str(model["config"]["name"])
        path, weights = self.path, self.weights
        self.path, self.weights = (*path, name), weights.inside(name)
        (output,) = self.body(model, given)
        self.path, self.weights = path, weights
        return output

    def sequential(self, config: Any, given: list[str] | None) -> list[str]:
        value = given[0] if given else None
        for layer in config["layers"]:
            is_input = layer["class_name"] == "InputLayer"
            if value is None:
                value = self.input(layer)
            if not is_input:
                value = self.layer(layer, [value])
        if value is None:
            raise UnsupportedLayerError("the model has no layers")
        return [value]

    def functional(self, config: Any, given: list[str] | None) -> list[str]:
        values: dict[str, str] = {}
        if given is not None:
            starts = _listed(config["input_layers"])
            if len(starts) != len(given):
                raise UnsupportedLayerError(f"a model with {len(starts)} inputs is given {len(given)} values")
            values = {str(each[0]): value for each, value in zip(starts, given, strict=True)}
        waiting = [layer for layer in config["layers"] if _name(layer) not in values]
        while waiting:
            left = []
            for layer in waiting:
                name = _name(layer)
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
        return [values[each[0]] for each in _listed(config["output_layers"])]

    def input(self, layer: Any) -> str:
        config = layer["config"]
        shape = (
            config.get("batch_shape")
            or config.get("batch_input_shape")
            or (layer.get("build_config") or {}).get("input_shape")
        )
        if not shape and layer["class_name"] == "Dense":
            # The weights tell.
            kernels = [each for each in self.weights.of(str(config["name"])) if each.ndim == 2]
            shape = [None, int(kernels[0].shape[0])] if kernels else None
        if not shape or any(not isinstance(size, int) or size < 1 for size in shape[1:]):
            raise UnsupportedLayerError(
                f"layer {config.get('name')}: the shape of the input is not known; build the model before saving it"
            )
        name = str(config.get("name", "input")) if layer["class_name"] == "InputLayer" else "input"
        self.ranks[name] = len(shape)
        return self.made.input(name, [1, *shape[1:]])

    def layer(self, layer: Any, values: list[str]) -> str:
        if layer["class_name"] in MODELS:
            return self.inner(layer, values)
        self.kind, config = layer["class_name"], layer["config"]
        own = str(config["name"])
        self.name = ".".join((*self.path, own))
        rule = RULES.get(self.kind)
        if self.kind in NONLINEAR:
            raise self.refuse("this layer is not piecewise linear")
        if rule is None:
            raise self.refuse("this layer is not read; export the model: model.export('model.onnx', format='onnx')")
        if config.get("data_format") not in (None, "channels_last"):
            raise self.refuse("expected channels last")
        value = rule(self, config, self.weights.of(own), values)
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


def _name(layer: Any) -> str:
    return str(layer.get("name") or layer["config"]["name"])


def _listed(ends: Any) -> list[Any]:
    """Where a model begins or ends: one place stands without a list around it."""
    return [ends] if ends and isinstance(ends[0], str) else list(ends)


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


def rule(*names: str) -> Callable[[Rule], Rule]:
    def register(given: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, given))
        return given

    return register
