"""ATen graphs, as `torch.export` makes them, written as ONNX graphs.

Nothing is decided here about what is piecewise linear: every operator becomes the ONNX operator that means the same, and the
reader of graphs takes it or refuses it by name. Constants keep the precision of the module. What depends on parameters
alone (a weight that is computed from two tensors) is computed by PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ._onnx import Attribute, Graph
from .errors import UnsupportedLayerError


class Value(str):
    """The name of a value that depends on the input."""

    __slots__ = ()


class Unread:
    """A result that is not read, such as the places of largest entries."""


class UnknownOperator(UnsupportedLayerError):
    """An operator without a translation."""


class Translation:
    """A graph of torch.fx with ATen operators, on its way to ONNX."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.values: dict[Any, Any] = {}
        """For every node: a value, a tensor that is constant, or a list of such for operators with several results."""
        self.paths: dict[str, Value] = {}
        """The last value of every module."""
        self.names: dict[int, str] = {}
        """What parameters and buffers are called, by their identity."""
        self.node: Any = None
        self._count = 0

    # What is known of a node.

    def path(self) -> tuple[str, str]:
        """The module in whose `forward` the node at work stands: its path and its class."""
        stack = list((self.node.meta.get("nn_module_stack") or {}).values())
        path, kind = (stack[-1] + ("",))[:2] if stack else ("", "")
        kind = kind if isinstance(kind, str) else getattr(kind, "__qualname__", "")
        return str(path), str(kind).rpartition(".")[2]

    def name(self) -> str:
        """How the node at work is called: by its module if it has one."""
        return self.path()[0] or self.node.name

    def refuse(self, reason: str) -> UnsupportedLayerError:
        path, kind = self.path()
        where = f"layer {path} ({kind})" if path else f"step {self.node.name}"
        return UnsupportedLayerError(f"{where}, {_operator(self.node)}: {reason}")

    # Values.

    def is_constant(self, value: Any) -> bool:
        import torch

        return isinstance(value, torch.Tensor) or value is None

    def value(self, given: Any, like: str | None = None, label: str | None = None) -> str:
        """The name of a value; of a constant if it is one. Numbers get the type `like`."""
        import torch

        if isinstance(given, Value):
            return given
        if isinstance(given, (bool, int, float)):
            dtype = like or "float32"
            if dtype == "bfloat16":
                given = torch.tensor(given, dtype=torch.bfloat16)
            else:
                return self.graph.constant(self.fresh("number"), np.array(given, dtype=dtype))
        if isinstance(given, torch.Tensor):
            array, dtype = as_array(given)
            return self.graph.constant(label or self.names.get(id(given)) or self.fresh("constant"), array, dtype)
        raise self.refuse(f"expected a tensor or a number, found {type(given).__name__}")

    def integers(self, values: Sequence[int]) -> str:
        return self.graph.constant(self.fresh("integers"), np.array([int(each) for each in values], dtype=np.int64))

    def fresh(self, what: str) -> str:
        self._count += 1
        return f"%{what}.{self._count}"

    def emit(self, operator: str, inputs: Sequence[str], **attributes: Attribute) -> Value:
        return Value(self.graph.node(operator, self.name(), inputs, self.fresh(self.node.name), **attributes))

    def dtype(self, node: Any = None) -> str:
        """The type of the numbers of a node."""
        found = (self.node if node is None else node).meta["val"]
        found = found[0] if isinstance(found, (list, tuple)) else found
        return str(found.dtype).removeprefix("torch.")

    def shape(self, node: Any = None) -> list[int]:
        found = (self.node if node is None else node).meta["val"]
        try:
            return [int(size) for size in found.shape]
        except Exception as error:
            raise self.refuse("the shape of its result is not known beforehand") from error

    # Translation.

    def input(self, node: Any, at: int) -> None:
        self.node = node
        if not str(node.meta["val"].dtype).removeprefix("torch.").startswith(("float", "bfloat")):
            raise self.refuse(f"input {at + 1} holds {node.meta['val'].dtype}; expected floating-point numbers")
        self.values[node] = Value(self.graph.input(str(node.name), self.shape(), self.dtype()))

    def resolve(self, given: Any) -> Any:
        """An argument with nodes replaced by what they stand for."""
        import torch.fx

        if isinstance(given, torch.fx.Node):
            found = self.values[given]
            if isinstance(found, Unread):
                raise self.refuse(f"it uses the places in {given.name}, which jump: no ReLU network gives them")
            return found
        if isinstance(given, (list, tuple)):
            return type(given)(self.resolve(each) for each in given)
        return given

    def step(self, node: Any) -> None:
        """Translates one call."""
        import operator

        self.node = node
        if node.op == "call_module" or str(getattr(node.target, "_schema", "")).startswith(
            ("aten::_assert", "aten::sym_")
        ):
            # Guards of the exporter: they compute nothing.
            self.values[node] = None
            return
        if node.target is operator.getitem:
            whole = self.values[node.args[0]]
            self.values[node] = whole[node.args[1]] if isinstance(whole, (list, tuple)) else whole
            return
        if _changes_arguments(node):
            # What was computed before would have to change with it.
            raise UnknownOperator(
                str(self.refuse("it changes a tensor in place; use the operator that returns a new one"))
            )
        args, kwargs = self.resolve(node.args), self.resolve(dict(node.kwargs))
        if not _has_value(args) and not _has_value(kwargs):
            self.values[node] = self.compute(args, kwargs)
            return
        translate = TABLE.get(_base(node))
        if translate is None:
            raise UnknownOperator(str(self.refuse(_ADVICE)))
        self.values[node] = translate(self, *_bound(node, args, kwargs))
        path, _ = self.path()
        if isinstance(self.values[node], Value):
            steps = path.split(".") if path else []
            for at in range(1, len(steps) + 1):
                self.paths[".".join(steps[:at])] = self.values[node]

    def compute(self, args: Any, kwargs: Any) -> Any:
        """The result of a call without values: PyTorch computes it."""
        import torch

        if torch.Tag.nondeterministic_seeded in getattr(self.node.target, "tags", ()):
            raise self.refuse("its numbers are random")
        try:
            with torch.no_grad():
                return self.node.target(*args, **kwargs)
        except Exception as error:
            raise self.refuse(f"it cannot be computed ({error})") from error


Rule = Callable[..., Any]
R = TypeVar("R", bound=Rule)
TABLE: dict[str, Rule] = {}


def _rule(*names: str) -> Callable[[R], R]:
    def register(rule: R) -> R:
        TABLE.update(dict.fromkeys(names, rule))
        return rule

    return register


def _base(node: Any) -> str:
    schema = getattr(node.target, "_schema", None)
    return str(schema.name).removeprefix("aten::").rstrip("_") if schema is not None else str(node.target)


def _changes_arguments(node: Any) -> bool:
    return bool(getattr(getattr(node.target, "_schema", None), "is_mutable", False))


def changes_in_place(graph: Any) -> bool:
    """Whether an operator of a graph changes its arguments."""
    return any(node.op == "call_function" and _changes_arguments(node) for node in graph.nodes)


def _operator(node: Any) -> str:
    return f"operator {_base(node)}"


def _bound(node: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments of a call in the order of its schema, defaults filled in."""
    found = []
    for at, argument in enumerate(node.target._schema.arguments):
        if at < len(args):
            found.append(args[at])
        elif argument.name in kwargs:
            found.append(kwargs[argument.name])
        else:
            found.append(argument.default_value if argument.has_default_value() else None)
    return found


def _has_value(given: Any) -> bool:
    if isinstance(given, dict):
        return any(map(_has_value, given.values()))
    return any(map(_has_value, given)) if isinstance(given, (list, tuple)) else isinstance(given, Value)


_ADVICE = (
    "it is not read; use linear maps, convolutions, pooling and piecewise linear activations instead, "
    "or read the network up to a layer before it (output=)"
)


def as_array(tensor: Any) -> tuple[np.ndarray, str]:
    """The numbers of a tensor and their type; those of bfloat16 as their bits."""
    import torch

    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(np.uint16), "bfloat16"
    if not tensor.is_floating_point():
        return tensor.to(torch.int64).numpy(), "int64"
    return tensor.numpy(), str(tensor.dtype).removeprefix("torch.")


def _constant(t: Translation, given: Any, what: str) -> Any:
    if not t.is_constant(given):
        raise t.refuse(f"its {what} depends on the input: the result is not piecewise linear")
    return given


# Linear maps.


@_rule("linear")
def _linear(t: Translation, x: Value, weight: Any, bias: Any) -> Value:
    _constant(t, weight, "weight")
    if len(t.shape()) == 2 and len(weight.shape) == 2:
        inputs = [x, t.value(weight)] + ([] if bias is None else [t.value(_constant(t, bias, "bias"))])
        return t.emit("Gemm", inputs, transB=1)
    made = t.emit("MatMul", [x, t.value(weight.t() if weight.dim() == 2 else weight, label=_turned(t, weight))])
    return made if bias is None else t.emit("Add", [made, t.value(_constant(t, bias, "bias"))])


def _turned(t: Translation, weight: Any) -> str:
    # The name ends like that of the parameter, by which the reader names neurons.
    name = t.names.get(id(weight), t.fresh("weight"))
    return f"%turned.{name}"


@_rule("addmm")
def _addmm(t: Translation, bias: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Value:
    made = t.emit("MatMul", [t.value(a), t.value(b)])
    made = made if alpha == 1 else t.emit("Mul", [made, t.value(alpha, t.dtype())])
    if beta != 1:
        bias = bias * beta if t.is_constant(bias) else t.emit("Mul", [bias, t.value(beta, t.dtype())])
    return t.emit("Add", [made, t.value(bias)])


@_rule("mm", "bmm", "matmul", "mv")
def _matmul(t: Translation, a: Any, b: Any) -> Value:
    return t.emit("MatMul", [t.value(a), t.value(b)])


def _all(value: Any, axes: int) -> list[int]:
    values = [int(value)] if isinstance(value, int) else [int(each) for each in value]
    return values * axes if len(values) == 1 else values


@_rule("conv1d", "conv2d", "conv3d")
def _conv(
    t: Translation, x: Value, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Value:
    return _convolution(t, x, weight, bias, stride, padding, dilation, False, 0, groups)


@_rule("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def _conv_transpose(
    t: Translation, x: Value, weight: Any, bias: Any, stride: Any, padding: Any, extra: Any, groups: int, dilation: Any
) -> Value:
    return _convolution(t, x, weight, bias, stride, padding, dilation, True, extra, groups)


@_rule("convolution")
def _convolution(
    t: Translation,
    x: Value,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    extra: Any,
    groups: int,
) -> Value:
    _constant(t, weight, "weight")
    axes = weight.dim() - 2
    kernel, step = list(weight.shape[2:]), _all(dilation, axes)
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(step, kernel)]
        pads = [each // 2 for each in total] + [each - each // 2 for each in total]
    else:
        pads = [0] * 2 * axes if padding == "valid" else _all(padding, axes) * 2
    single = len(t.shape()) == axes + 1
    if single:
        x = t.emit("Unsqueeze", [x, t.integers([0])])
    inputs = [x, t.value(weight)] + ([] if bias is None else [t.value(_constant(t, bias, "bias"))])
    attributes: dict[str, Attribute] = {
        "kernel_shape": kernel, "strides": _all(stride, axes), "pads": pads, "dilations": step, "group": int(groups),
    }  # fmt: skip
    if transposed:
        attributes["output_padding"] = _all(extra, axes)
    made = t.emit("ConvTranspose" if transposed else "Conv", inputs, **attributes)
    return t.emit("Squeeze", [made, t.integers([0])]) if single else made


@_rule("batch_norm")
def _batch_norm(
    t: Translation,
    x: Value,
    weight: Any,
    bias: Any,
    mean: Any,
    variance: Any,
    training: bool,
    _m: Any,
    eps: float,
    _c: Any,
) -> Value:
    if training or mean is None:
        raise t.refuse(
            "batch norm with the statistics of the batch is no linear map; it needs running statistics and .eval()"
        )
    return _normalise(t, x, weight, bias, mean, variance, eps)


@_rule("_native_batch_norm_legit_no_training")
def _normalise_only(
    t: Translation, x: Value, weight: Any, bias: Any, mean: Any, variance: Any, _m: Any, eps: float
) -> list[Any]:
    return [_normalise(t, x, weight, bias, mean, variance, eps), None, None]


@_rule("native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm")
def _native_batch_norm(
    t: Translation, x: Value, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, _m: Any, eps: float
) -> list[Any]:
    return [_batch_norm(t, x, weight, bias, mean, variance, training, _m, eps, None), None, None]


def _normalise(t: Translation, x: Value, weight: Any, bias: Any, mean: Any, variance: Any, eps: float) -> Value:
    import torch

    for given in (weight, bias, mean, variance):
        _constant(t, given, "statistics")
    # Epsilon is a double here and a single in ONNX: it goes into the variance.
    spread = variance.to(torch.float64) + float(eps)
    weight = torch.ones_like(mean) if weight is None else weight
    bias = torch.zeros_like(mean) if bias is None else bias
    return t.emit("BatchNormalization", [x, *map(t.value, (weight, bias, mean, spread))], epsilon=0.0)


# Piecewise linear operators.


@_rule("relu")
def _relu(t: Translation, x: Value) -> Value:
    return t.emit("Relu", [x])


@_rule("leaky_relu", "rrelu")
def _leaky(t: Translation, x: Value, slope: Any, *rest: Any) -> Value:
    if rest:
        lower, upper, training = slope, rest[0], rest[1]
        if training:
            raise t.refuse("its slopes are random in training; use .eval()")
        slope = (lower + upper) / 2
    return t.emit("PRelu", [x, t.value(float(slope), t.dtype())])


@_rule("prelu", "_prelu_kernel")
def _prelu(t: Translation, x: Value, slope: Any) -> Value:
    _constant(t, slope, "slope")
    if slope.dim() <= 1 and slope.numel() > 1:
        slope = slope.reshape([-1] + [1] * max(len(t.shape()) - 2, 0))
    return t.emit("PRelu", [x, t.value(slope)])


@_rule("hardtanh", "clamp", "clip")
def _clamp(t: Translation, x: Value, low: Any, high: Any) -> Value:
    tensors = [each for each in (low, high) if not isinstance(each, (int, float, type(None)))]
    if tensors:
        made = x if low is None else t.emit("Max", [x, t.value(low, t.dtype())])
        return made if high is None else t.emit("Min", [made, t.value(high, t.dtype())])
    bounds = ["" if each is None else t.value(float(each), t.dtype()) for each in (low, high)]
    return t.emit("Clip", [x, *bounds])


@_rule("relu6")
def _relu6(t: Translation, x: Value) -> Value:
    return _clamp(t, x, 0.0, 6.0)


@_rule("clamp_min")
def _clamp_min(t: Translation, x: Value, low: Any) -> Value:
    return _clamp(t, x, low, None)


@_rule("clamp_max")
def _clamp_max(t: Translation, x: Value, high: Any) -> Value:
    return _clamp(t, x, None, high)


@_rule("hardsigmoid")
def _hardsigmoid(t: Translation, x: Value) -> Value:
    shifted = t.emit("Add", [x, t.value(3.0, t.dtype())])
    return t.emit("Div", [_clamp(t, shifted, 0.0, 6.0), t.value(6.0, t.dtype())])


@_rule("threshold")
def _threshold(t: Translation, x: Value, threshold: Any, value: Any) -> Value:
    if threshold != value:
        raise t.refuse(f"it jumps from {value} to {threshold}: no ReLU network does")
    return _clamp(t, x, float(threshold), None)


@_rule("softshrink", "hardshrink")
def _shrink(t: Translation, x: Value, bound: Any) -> Value:
    if _base(t.node) == "hardshrink" and bound != 0:
        raise t.refuse("it jumps: no ReLU network does")
    # x - clip(x, -b, b)
    return t.emit("Sub", [x, _clamp(t, x, -float(bound), float(bound))]) if bound else x


@_rule("abs")
def _abs(t: Translation, x: Value) -> Value:
    return t.emit("Abs", [x])


@_rule("maximum", "minimum", "fmax", "fmin")
def _largest(t: Translation, a: Any, b: Any) -> Value:
    return t.emit("Max" if "max" in _base(t.node) else "Min", [t.value(a, t.dtype()), t.value(b, t.dtype())])


@_rule("max", "min")
def _max(t: Translation, x: Any, *rest: Any) -> Any:
    overload = t.node.target._schema.overload_name
    word = _base(t.node).capitalize()
    if overload == "other":
        return t.emit(word, [t.value(x), t.value(rest[0])])
    if overload == "dim":
        return [t.emit(f"Reduce{word}", [x], axes=[int(rest[0])], keepdims=int(bool(rest[1]))), Unread()]
    return t.emit(f"Reduce{word}", [x], keepdims=0)


@_rule("amax", "amin")
def _extreme(t: Translation, x: Value, dim: Any, keep: bool) -> Value:
    return _reduce(t, "Reduce" + _base(t.node)[1:].capitalize(), x, dim, keep)


@_rule("where")
def _where(t: Translation, condition: Any, a: Any, b: Any) -> Value:
    return t.emit("Where", [t.value(condition), t.value(a, t.dtype()), t.value(b, t.dtype())])


@_rule("gt", "ge", "lt", "le")
def _compare(t: Translation, a: Any, b: Any) -> Value:
    words = {"gt": "Greater", "ge": "GreaterOrEqual", "lt": "Less", "le": "LessOrEqual"}
    like = t.dtype(next(each for each in t.node.args if hasattr(each, "meta")))
    return t.emit(words[_base(t.node)], [t.value(a, like), t.value(b, like)])


# Pooling and sums.


def _pool(
    t: Translation, operator: str, x: Value, kernel: Any, stride: Any, padding: Any, ceil: bool, **more: Attribute
) -> Value:
    axes = 1 if "1d" in _base(t.node) else 3 if "3d" in _base(t.node) else 2
    kernel = _all(kernel, axes)
    stride = _all(stride, axes) if stride else kernel
    single = len(t.shape() if not isinstance(t.node.meta["val"], tuple) else t.node.meta["val"][0].shape) == axes + 1
    if single:
        x = t.emit("Unsqueeze", [x, t.integers([0])])
    pads = _all(padding, axes) * 2
    made = t.emit(operator, [x], kernel_shape=kernel, strides=stride, pads=pads, ceil_mode=int(bool(ceil)), **more)
    return t.emit("Squeeze", [made, t.integers([0])]) if single else made


@_rule("max_pool1d", "max_pool2d", "max_pool3d")
def _max_pool(t: Translation, x: Value, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool) -> Value:
    axes = 1 if "1d" in _base(t.node) else 3 if "3d" in _base(t.node) else 2
    return _pool(t, "MaxPool", x, kernel, stride, padding, ceil, dilations=_all(dilation, axes))


@_rule("max_pool1d_with_indices", "max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool_with_indices(t: Translation, x: Value, *rest: Any) -> list[Any]:
    return [_max_pool(t, x, *rest), Unread()]


@_rule("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(
    t: Translation, x: Value, kernel: Any, stride: Any, padding: Any, ceil: bool, include: bool, divisor: Any = None
) -> Value:
    if divisor is not None:
        raise t.refuse("its divisor_override is not read; write the factor behind an average")
    return _pool(t, "AveragePool", x, kernel, stride, padding, ceil, count_include_pad=int(bool(include)))


@_rule(
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d"
)
def _adaptive_average(t: Translation, x: Value, size: Any) -> Value:
    return _adaptive(t, "AveragePool", x, size)


@_rule("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def _adaptive_max(t: Translation, x: Value, size: Any) -> list[Any]:
    return [_adaptive(t, "MaxPool", x, size), Unread()]


def _adaptive(t: Translation, operator: str, x: Value, size: Any) -> Value:
    axes = 1 if "1d" in _base(t.node) else 3 if "3d" in _base(t.node) else 2
    inside, outside = t.shape(t.node.args[0])[-axes:], _all(size, axes)
    if any(i % o for i, o in zip(inside, outside)):
        raise t.refuse(f"an image of {inside} is no multiple of its size {outside}")
    kernel = [i // o for i, o in zip(inside, outside)]
    return _pool(t, operator, x, kernel, kernel, 0, False)


def _reduce(t: Translation, operator: str, x: Value, dim: Any, keep: bool) -> Value:
    rank = len(t.shape(t.node.args[0]))
    axes = list(range(rank)) if dim is None or dim == [] else _all(dim, 1)
    if operator == "ReduceSum":
        return t.emit(operator, [x, t.integers(axes)], keepdims=int(bool(keep)))
    return t.emit(operator, [x], axes=axes, keepdims=int(bool(keep)))


@_rule("mean", "sum")
def _mean(t: Translation, x: Value, *rest: Any) -> Value:
    operator = "Reduce" + _base(t.node).capitalize()
    if t.node.target._schema.overload_name in ("dim", "dim_IntList"):
        return _reduce(t, operator, x, rest[0], rest[1])
    return _reduce(t, operator, x, None, False)


# Arithmetic.


@_rule("add", "sub", "rsub")
def _add(t: Translation, a: Any, b: Any, alpha: Any = 1) -> Value:
    kind = t.dtype()
    if alpha != 1:
        b = t.emit("Mul", [b, t.value(alpha, kind)]) if isinstance(b, Value) else b * alpha
    first, second = (b, a) if _base(t.node) == "rsub" else (a, b)
    return t.emit("Add" if _base(t.node) == "add" else "Sub", [t.value(first, kind), t.value(second, kind)])


@_rule("mul", "multiply")
def _mul(t: Translation, a: Any, b: Any) -> Value:
    return t.emit("Mul", [t.value(a, t.dtype()), t.value(b, t.dtype())])


@_rule("div", "true_divide", "divide")
def _div(t: Translation, a: Any, b: Any, rounding: Any = None) -> Value:
    if rounding is not None:
        raise t.refuse("a division that rounds jumps: no ReLU network does")
    return t.emit("Div", [t.value(a, t.dtype()), t.value(b, t.dtype())])


@_rule("neg", "negative")
def _neg(t: Translation, x: Value) -> Value:
    return t.emit("Neg", [x])


# Shapes.


@_rule(
    "view", "reshape", "_unsafe_view", "flatten", "unflatten", "squeeze", "unsqueeze", "ravel", "view_as", "reshape_as"
)  # fmt: skip
def _reshape(t: Translation, x: Value, *_: Any) -> Value:
    return t.emit("Reshape", [x, t.integers(t.shape())])


@_rule("expand", "expand_as", "broadcast_to")
def _expand(t: Translation, x: Value, *_: Any) -> Value:
    return t.emit("Expand", [x, t.integers(t.shape())])


@_rule("repeat", "tile")
def _repeat(t: Translation, x: Value, times: Sequence[int]) -> Value:
    rank = len(t.shape())
    own = t.shape(t.node.args[0])
    if len(own) < rank:
        x = t.emit("Reshape", [x, t.integers([1] * (rank - len(own)) + own)])
    return t.emit("Tile", [x, t.integers([1] * (rank - len(times)) + list(times))])


@_rule("permute")
def _permute(t: Translation, x: Value, dims: Sequence[int]) -> Value:
    return t.emit("Transpose", [x], perm=[each % len(dims) for each in dims])


@_rule("transpose", "t", "swapaxes", "numpy_T", "mT", "adjoint")
def _transpose(t: Translation, x: Value, first: int = -2, second: int = -1) -> Value:
    rank = len(t.shape())
    order = list(range(rank))
    if _base(t.node) == "numpy_T":
        order.reverse()
    elif rank >= 2:
        order[first], order[second] = order[second], order[first]
    return t.emit("Transpose", [x], perm=order)


@_rule("cat", "concat", "concatenate")
def _cat(t: Translation, values: Sequence[Any], dim: int = 0) -> Value:
    kind = t.dtype()
    return t.emit("Concat", [t.value(each, kind) for each in values], axis=int(dim))


@_rule("stack")
def _stack(t: Translation, values: Sequence[Any], dim: int = 0) -> Value:
    at = dim % len(t.shape())
    parts = [t.emit("Unsqueeze", [t.value(each, t.dtype()), t.integers([at])]) for each in values]
    return t.emit("Concat", parts, axis=at)


def _cut(t: Translation, x: Value, dim: int, start: int, end: int, step: int = 1) -> Value:
    return t.emit("Slice", [x, *(t.integers([each]) for each in (start, end, dim, step))])


@_rule("slice")
def _slice(t: Translation, x: Value, dim: int, start: Any, end: Any, step: int) -> Value:
    size = t.shape(t.node.args[0])[dim]
    return _cut(t, x, dim, 0 if start is None else start, size if end is None else min(end, size), step)


@_rule("narrow")
def _narrow(t: Translation, x: Value, dim: int, start: int, length: int) -> Value:
    return _cut(t, x, dim, start, start + length)


@_rule("select")
def _select(t: Translation, x: Value, dim: int, index: int) -> Value:
    at = index % t.shape(t.node.args[0])[dim]
    return t.emit("Reshape", [_cut(t, x, dim, at, at + 1), t.integers(t.shape())])


@_rule("split", "split_with_sizes", "chunk", "tensor_split", "unsafe_split", "unbind")
def _split(t: Translation, x: Value, *rest: Any) -> list[Value]:
    base = _base(t.node)
    dim = int((rest[0] if base == "unbind" else rest[1]) if rest else 0)
    made, start = [], 0
    for part in t.node.meta["val"]:
        size = 1 if base == "unbind" else int(part.shape[dim])
        piece = _cut(t, x, dim, start, start + size)
        if base == "unbind":
            piece = t.emit("Reshape", [piece, t.integers([int(each) for each in part.shape])])
        made.append(piece)
        start += size
    return made


def _gather(t: Translation, x: Value, dim: int, index: Sequence[int]) -> Value:
    return t.emit("Gather", [x, t.integers(index)], axis=int(dim))


@_rule("index_select")
def _index_select(t: Translation, x: Value, dim: int, index: Any) -> Value:
    return _gather(t, x, dim, _constant(t, index, "index").tolist())


@_rule("index")
def _index(t: Translation, x: Value, indices: Sequence[Any]) -> Value:
    given = [(dim, each) for dim, each in enumerate(indices) if each is not None]
    if len(given) != 1 or not t.is_constant(given[0][1]) or given[0][1].dim() != 1:
        raise t.refuse("expected one list of constant places")
    dim, places = given[0]
    if str(places.dtype) == "torch.bool":
        places = places.nonzero().flatten()
    size = t.shape(t.node.args[0])[dim]
    return _gather(t, x, dim, [each % size for each in places.tolist()])


@_rule("flip")
def _flip(t: Translation, x: Value, dims: Sequence[int]) -> Value:
    for dim in dims:
        x = _gather(t, x, dim, list(range(t.shape()[dim]))[::-1])
    return x


@_rule("roll")
def _roll(t: Translation, x: Value, shifts: Sequence[int], dims: Sequence[int]) -> Value:
    if not dims:
        raise t.refuse("expected the dimensions to be given")
    for shift, dim in zip(_all(shifts, 1), _all(dims, 1)):
        size = t.shape()[dim]
        x = _gather(t, x, dim, [(at - shift) % size for at in range(size)])
    return x


def _replaced(t: Translation, x: Any, source: Any, dim: int, places: Sequence[int]) -> Value:
    """A value with the entries of another at these places of a dimension."""
    kind, size = t.dtype(), t.shape()[dim]
    both = t.emit("Concat", [t.value(x, kind), t.value(source, kind)], axis=int(dim))
    where = {place: size + at for at, place in enumerate(places)}
    return _gather(t, both, dim, [where.get(at, at) for at in range(size)])


@_rule("slice_scatter")
def _slice_scatter(t: Translation, x: Any, source: Any, dim: int, start: Any, end: Any, step: int) -> Value:
    return _replaced(t, x, source, dim, range(t.shape()[dim])[slice(start, end, step)])


@_rule("select_scatter")
def _select_scatter(t: Translation, x: Any, source: Any, dim: int, index: int) -> Value:
    at = dim % len(t.shape())
    return _replaced(
        t, x, t.emit("Unsqueeze", [t.value(source, t.dtype()), t.integers([at])]), dim, [index % t.shape()[dim]]
    )


@_rule("copy")
def _copy(t: Translation, x: Any, source: Any, *_: Any) -> Value:
    return t.emit("Expand", [t.value(source, t.dtype()), t.integers(t.shape())])


@_rule("fill", "zero", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full")
def _filled(t: Translation, x: Any, *rest: Any) -> Any:
    """A constant of the shape of a value."""
    import torch

    base, found = _base(t.node), t.node.meta["val"]
    numbers = [each for each in rest if isinstance(each, (int, float)) and not isinstance(each, bool)]
    value = 1.0 if "ones" in base else 0.0 if "zero" in base else numbers[0] if numbers else None
    if value is None:
        raise t.refuse("expected a number to fill it with")
    return torch.full(t.shape(), value, dtype=found.dtype)


@_rule("pixel_shuffle", "pixel_unshuffle")
def _pixel_shuffle(t: Translation, x: Value, factor: int) -> Value:
    *lead, c, h, w = t.shape(t.node.args[0])
    n, r = len(lead), factor
    if _base(t.node) == "pixel_shuffle":
        inner, order = [c // r**2, r, r, h, w], [0, 3, 1, 4, 2]
    else:
        inner, order = [c, h // r, r, w // r, r], [0, 2, 4, 1, 3]
    x = t.emit("Reshape", [x, t.integers(lead + inner)])
    x = t.emit("Transpose", [x], perm=list(range(n)) + [n + each for each in order])
    return t.emit("Reshape", [x, t.integers(t.shape())])


@_rule("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def _upsample(t: Translation, x: Value, *_: Any) -> Value:
    inside, outside = t.shape(t.node.args[0]), t.shape()
    for dim in range(2, len(inside)):
        if outside[dim] % inside[dim]:
            raise t.refuse(f"it makes {outside[dim]} of {inside[dim]} entries; expected a whole multiple")
        factor = outside[dim] // inside[dim]
        x = _gather(t, x, dim, [at // factor for at in range(outside[dim])])
    return x


@_rule("constant_pad_nd", "pad", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d",
       "replication_pad1d", "replication_pad2d", "replication_pad3d")  # fmt: skip
def _pad(t: Translation, x: Value, sides: Sequence[int], *rest: Any) -> Value:
    base, mode, value = _base(t.node), "constant", 0.0
    if base == "pad":
        mode, value = {"replicate": "edge", "circular": "wrap"}.get(rest[0], rest[0]), rest[1] or 0.0
    elif base == "constant_pad_nd":
        value = rest[0] if rest and rest[0] is not None else 0.0
    else:
        mode = "reflect" if base.startswith("reflection") else "edge"
    rank = len(t.shape())
    before, after = [0] * rank, [0] * rank
    for at in range(len(sides) // 2):
        before[rank - 1 - at], after[rank - 1 - at] = sides[2 * at], sides[2 * at + 1]
    return t.emit("Pad", [x, t.integers(before + after), t.value(float(value), t.dtype())], mode=mode)


# What changes nothing in evaluation, and what is set aside or refused by the reader.


@_rule("clone", "contiguous", "detach", "alias", "lift_fresh_copy", "lift_fresh", "view_of", "type_as", "_to_copy", "to",
       "requires_grad", "positive", "identity", "double", "float", "half")  # fmt: skip
def _same(t: Translation, x: Value, *_: Any) -> Value:
    source = t.node.args[0]
    if t.dtype() == t.dtype(source):
        return x
    codes = {"float32": 1, "float16": 10, "float64": 11, "bfloat16": 16}
    if t.dtype() not in codes:
        raise t.refuse(f"a cast to {t.dtype()} rounds: no ReLU network does")
    return t.emit("Cast", [x], to=codes[t.dtype()])


@_rule("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "native_dropout")
def _dropout(t: Translation, x: Value, p: Any, training: Any) -> Any:
    if training and p:
        raise t.refuse(
            "it is random in training; it must be called with training=False, or belong to a module in .eval()"
        )
    return [x, None] if _base(t.node) == "native_dropout" else x


def _plain(operator: str) -> Rule:
    def rule(t: Translation, x: Value, *_: Any) -> Value:
        return t.emit(operator, [x])

    return rule


for _name, _operator_name in {
    "sigmoid": "Sigmoid", "tanh": "Tanh", "gelu": "Gelu", "elu": "Elu", "selu": "Selu", "celu": "Celu", "silu": "Swish",
    "mish": "Mish", "softplus": "Softplus", "softsign": "Softsign", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "pow": "Pow",
    "square": "Pow", "hardswish": "HardSwish", "erf": "Erf", "reciprocal": "Reciprocal", "rsqrt": "Reciprocal", "sin": "Sin",
    "cos": "Cos", "layer_norm": "LayerNormalization", "native_layer_norm": "LayerNormalization",
    "group_norm": "GroupNormalization", "instance_norm": "InstanceNormalization", "round": "Round", "floor": "Floor",
    "ceil": "Ceil", "sign": "Sign",
}.items():  # fmt: skip
    TABLE[_name] = _plain(_operator_name)


@_rule("softmax", "_softmax", "log_softmax", "_log_softmax", "argmax")
def _head(t: Translation, x: Value, dim: Any, *_: Any) -> Value:
    words = {"softmax": "Softmax", "log_softmax": "LogSoftmax", "argmax": "ArgMax"}
    return t.emit(words[_base(t.node).lstrip("_")], [x], axis=-1 if dim is None else int(dim))
