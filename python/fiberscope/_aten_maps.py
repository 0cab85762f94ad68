"""What ATen operators with numbers in them are in ONNX: linear maps, pooling, arithmetic and piecewise linear functions."""

from __future__ import annotations

import math
from typing import Any

from ._aten import TABLE, Rule, Translation, Unread, Value, base, constant, rule, sizes
from ._onnx import Attribute

# Linear maps.


@rule("linear")
def _linear(t: Translation, x: Value, weight: Any, bias: Any) -> Value:
    constant(t, weight, "weight")
    if len(t.shape()) == 2 and len(weight.shape) == 2:
        inputs = [x, t.value(weight)] + ([] if bias is None else [t.value(constant(t, bias, "bias"))])
        return t.emit("Gemm", inputs, transB=1)
    made = t.emit("MatMul", [x, t.value(weight.t() if weight.dim() == 2 else weight, label=_turned(t, weight))])
    return made if bias is None else t.emit("Add", [made, t.value(constant(t, bias, "bias"))])


def _turned(t: Translation, weight: Any) -> str:
    # The name ends like that of the parameter, by which the reader names neurons.
    name = t.names.get(id(weight), t.fresh("weight"))
    return f"%turned.{name}"


@rule("addmm")
def _addmm(t: Translation, bias: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Value:
    made = t.emit("MatMul", [t.value(a), t.value(b)])
    made = made if alpha == 1 else t.emit("Mul", [made, t.value(alpha, t.dtype())])
    if beta != 1:
        bias = bias * beta if t.is_constant(bias) else t.emit("Mul", [bias, t.value(beta, t.dtype())])
    return t.emit("Add", [made, t.value(bias)])


@rule("mm", "bmm", "matmul", "mv")
def _matmul(t: Translation, a: Any, b: Any) -> Value:
    return t.emit("MatMul", [t.value(a), t.value(b)])


@rule("conv1d", "conv2d", "conv3d")
def _conv(
    t: Translation, x: Value, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Value:
    return _convolution(t, x, weight, bias, stride, padding, dilation, False, 0, groups)


@rule("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def _conv_transpose(
    t: Translation, x: Value, weight: Any, bias: Any, stride: Any, padding: Any, extra: Any, groups: int, dilation: Any
) -> Value:
    return _convolution(t, x, weight, bias, stride, padding, dilation, True, extra, groups)


@rule("convolution")
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
    constant(t, weight, "weight")
    axes = weight.dim() - 2
    kernel, step = list(weight.shape[2:]), sizes(dilation, axes)
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(step, kernel)]
        pads = [each // 2 for each in total] + [each - each // 2 for each in total]
    else:
        pads = [0] * 2 * axes if padding == "valid" else sizes(padding, axes) * 2
    single = len(t.shape()) == axes + 1
    if single:
        x = t.emit("Unsqueeze", [x, t.integers([0])])
    inputs = [x, t.value(weight)] + ([] if bias is None else [t.value(constant(t, bias, "bias"))])
    attributes: dict[str, Attribute] = {
        "kernel_shape": kernel, "strides": sizes(stride, axes), "pads": pads, "dilations": step, "group": int(groups),
    }  # fmt: skip
    if transposed:
        attributes["output_padding"] = sizes(extra, axes)
    made = t.emit("ConvTranspose" if transposed else "Conv", inputs, **attributes)
    return t.emit("Squeeze", [made, t.integers([0])]) if single else made


@rule("batch_norm")
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


@rule("_native_batch_norm_legit_no_training")
def _normalise_only(
    t: Translation, x: Value, weight: Any, bias: Any, mean: Any, variance: Any, _m: Any, eps: float
) -> list[Any]:
    return [_normalise(t, x, weight, bias, mean, variance, eps), None, None]


@rule("native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm")
def _native_batch_norm(
    t: Translation, x: Value, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, _m: Any, eps: float
) -> list[Any]:
    return [_batch_norm(t, x, weight, bias, mean, variance, training, _m, eps, None), None, None]


@rule("instance_norm")
def _instance_norm(
    t: Translation, x: Value, weight: Any, bias: Any, mean: Any, variance: Any, own: bool, _m: Any, eps: float, _c: Any
) -> Value:
    if own or mean is None:
        return t.emit("InstanceNormalization", [x])
    return _normalise(t, x, weight, bias, mean, variance, eps)


def _normalise(t: Translation, x: Value, weight: Any, bias: Any, mean: Any, variance: Any, eps: float) -> Value:
    import torch

    for given in (weight, bias, mean, variance):
        constant(t, given, "statistics")
    # Epsilon is a double here and a single in ONNX: it goes into the variance.
    spread = variance.to(torch.float64) + float(eps)
    weight = torch.ones_like(mean) if weight is None else weight
    bias = torch.zeros_like(mean) if bias is None else bias
    return t.emit("BatchNormalization", [x, *map(t.value, (weight, bias, mean, spread))], epsilon=0.0)


# Piecewise linear operators.


@rule("relu")
def _relu(t: Translation, x: Value) -> Value:
    return t.emit("Relu", [x])


@rule("leaky_relu", "rrelu")
def _leaky(t: Translation, x: Value, slope: Any, *rest: Any) -> Value:
    if rest:
        lower, upper, training = slope, rest[0], rest[1]
        if training:
            raise t.refuse("its slopes are random in training; use .eval()")
        slope = (lower + upper) / 2
    return t.emit("PRelu", [x, t.value(float(slope), t.dtype())])


@rule("prelu", "_prelu_kernel")
def _prelu(t: Translation, x: Value, slope: Any) -> Value:
    constant(t, slope, "slope")
    if slope.dim() <= 1 and slope.numel() > 1:
        slope = slope.reshape([-1] + [1] * max(len(t.shape()) - 2, 0))
    return t.emit("PRelu", [x, t.value(slope)])


@rule("hardtanh", "clamp", "clip")
def _clamp(t: Translation, x: Value, low: Any, high: Any) -> Value:
    tensors = [each for each in (low, high) if not isinstance(each, (int, float, type(None)))]
    if tensors:
        made = x if low is None else t.emit("Max", [x, t.value(low, t.dtype())])
        return made if high is None else t.emit("Min", [made, t.value(high, t.dtype())])
    bounds = ["" if each is None else t.value(float(each), t.dtype()) for each in (low, high)]
    return t.emit("Clip", [x, *bounds])


@rule("relu6")
def _relu6(t: Translation, x: Value) -> Value:
    return _clamp(t, x, 0.0, 6.0)


@rule("clamp_min")
def _clamp_min(t: Translation, x: Value, low: Any) -> Value:
    return _clamp(t, x, low, None)


@rule("clamp_max")
def _clamp_max(t: Translation, x: Value, high: Any) -> Value:
    return _clamp(t, x, None, high)


@rule("hardsigmoid")
def _hardsigmoid(t: Translation, x: Value) -> Value:
    shifted = t.emit("Add", [x, t.value(3.0, t.dtype())])
    return t.emit("Div", [_clamp(t, shifted, 0.0, 6.0), t.value(6.0, t.dtype())])


@rule("threshold")
def _threshold(t: Translation, x: Value, threshold: Any, value: Any) -> Value:
    if threshold != value:
        raise t.refuse(f"it jumps from {value} to {threshold}: no ReLU network does")
    return _clamp(t, x, float(threshold), None)


@rule("softshrink", "hardshrink")
def _shrink(t: Translation, x: Value, bound: Any) -> Value:
    if base(t.node) == "hardshrink" and bound != 0:
        raise t.refuse("it jumps: no ReLU network does")
    # x - clip(x, -b, b)
    return t.emit("Sub", [x, _clamp(t, x, -float(bound), float(bound))]) if bound else x


@rule("abs")
def _abs(t: Translation, x: Value) -> Value:
    return t.emit("Abs", [x])


@rule("maximum", "minimum", "fmax", "fmin")
def _largest(t: Translation, a: Any, b: Any) -> Value:
    return t.emit("Max" if "max" in base(t.node) else "Min", [t.value(a, t.dtype()), t.value(b, t.dtype())])


@rule("max", "min")
def _max(t: Translation, x: Any, *rest: Any) -> Any:
    overload = t.node.target._schema.overload_name
    word = base(t.node).capitalize()
    if overload == "other":
        return t.emit(word, [t.value(x), t.value(rest[0])])
    if overload == "dim":
        return [t.emit(f"Reduce{word}", [x], axes=[int(rest[0])], keepdims=int(bool(rest[1]))), Unread()]
    return t.emit(f"Reduce{word}", [x], keepdims=0)


@rule("amax", "amin")
def _extreme(t: Translation, x: Value, dim: Any, keep: bool) -> Value:
    return _reduce(t, "Reduce" + base(t.node)[1:].capitalize(), x, dim, keep)


@rule("where")
def _where(t: Translation, condition: Any, a: Any = None, b: Any = None) -> Value:
    if a is None or b is None:
        raise t.refuse("places that depend on the input jump: no ReLU network gives them; use where(condition, a, b)")
    return t.emit("Where", [t.value(condition), t.value(a, t.dtype()), t.value(b, t.dtype())])


@rule("gt", "ge", "lt", "le")
def _compare(t: Translation, a: Any, b: Any) -> Value:
    words = {"gt": "Greater", "ge": "GreaterOrEqual", "lt": "Less", "le": "LessOrEqual"}
    like = t.dtype(next(each for each in t.node.args if hasattr(each, "meta")))
    return t.emit(words[base(t.node)], [t.value(a, like), t.value(b, like)])


# Pooling and sums.


def _pool(
    t: Translation, operator: str, x: Value, kernel: Any, stride: Any, padding: Any, ceil: bool, **more: Attribute
) -> Value:
    axes = 1 if "1d" in base(t.node) else 3 if "3d" in base(t.node) else 2
    kernel = sizes(kernel, axes)
    stride = sizes(stride, axes) if stride else kernel
    single = len(t.shape() if not isinstance(t.node.meta["val"], tuple) else t.node.meta["val"][0].shape) == axes + 1
    if single:
        x = t.emit("Unsqueeze", [x, t.integers([0])])
    pads = sizes(padding, axes) * 2
    made = t.emit(operator, [x], kernel_shape=kernel, strides=stride, pads=pads, ceil_mode=int(bool(ceil)), **more)
    return t.emit("Squeeze", [made, t.integers([0])]) if single else made


@rule("max_pool1d", "max_pool2d", "max_pool3d")
def _max_pool(t: Translation, x: Value, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool) -> Value:
    axes = 1 if "1d" in base(t.node) else 3 if "3d" in base(t.node) else 2
    return _pool(t, "MaxPool", x, kernel, stride, padding, ceil, dilations=sizes(dilation, axes))


@rule("max_pool1d_with_indices", "max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool_with_indices(t: Translation, x: Value, *rest: Any) -> list[Any]:
    return [_max_pool(t, x, *rest), Unread()]


@rule("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(
    t: Translation, x: Value, kernel: Any, stride: Any, padding: Any, ceil: bool, include: bool, divisor: Any = None
) -> Value:
    if divisor is None:
        return _pool(t, "AveragePool", x, kernel, stride, padding, ceil, count_include_pad=int(bool(include)))
    if ceil:
        raise t.refuse("its divisor_override with ceil_mode is not read; write the factor behind an average")
    average = _pool(t, "AveragePool", x, kernel, stride, padding, ceil, count_include_pad=1)
    axes = 1 if "1d" in base(t.node) else 3 if "3d" in base(t.node) else 2
    total = t.emit("Mul", [average, t.value(float(math.prod(sizes(kernel, axes))), t.dtype())])
    return t.emit("Div", [total, t.value(float(divisor), t.dtype())])


@rule(
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d"
)
def _adaptive_average(t: Translation, x: Value, size: Any) -> Value:
    return _adaptive(t, "AveragePool", x, size)


@rule("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def _adaptive_max(t: Translation, x: Value, size: Any) -> list[Any]:
    return [_adaptive(t, "MaxPool", x, size), Unread()]


def _adaptive(t: Translation, operator: str, x: Value, size: Any) -> Value:
    axes = 1 if "1d" in base(t.node) else 3 if "3d" in base(t.node) else 2
    inside, outside = t.shape(t.node.args[0])[-axes:], sizes(size, axes)
    if not any(i % o for i, o in zip(inside, outside)):
        kernel = [i // o for i, o in zip(inside, outside)]
        return _pool(t, operator, x, kernel, kernel, 0, False)
    # Windows of several sizes: axis by axis, each window on its own.
    reduce = "ReduceMax" if operator == "MaxPool" else "ReduceMean"
    for axis, (size, count) in enumerate(zip(inside, outside), len(t.shape(t.node.args[0])) - axes):
        parts = []
        for at in range(count):
            ends = [at * size // count, -(-(at + 1) * size // count)]
            part = t.emit("Slice", [x, *(t.integers([each]) for each in (*ends, axis, 1))])
            parts.append(t.emit(reduce, [part], axes=[axis], keepdims=1))
        x = t.emit("Concat", parts, axis=axis)
    return x


def _reduce(t: Translation, operator: str, x: Value, dim: Any, keep: bool) -> Value:
    rank = len(t.shape(t.node.args[0]))
    axes = list(range(rank)) if dim is None or dim == [] else sizes(dim, 1)
    if operator == "ReduceSum":
        return t.emit(operator, [x, t.integers(axes)], keepdims=int(bool(keep)))
    return t.emit(operator, [x], axes=axes, keepdims=int(bool(keep)))


@rule("mean", "sum")
def _mean(t: Translation, x: Value, *rest: Any) -> Value:
    operator = "Reduce" + base(t.node).capitalize()
    if t.node.target._schema.overload_name in ("dim", "dim_IntList"):
        return _reduce(t, operator, x, rest[0], rest[1])
    return _reduce(t, operator, x, None, False)


# Arithmetic.


@rule("add", "sub", "rsub")
def _add(t: Translation, a: Any, b: Any, alpha: Any = 1) -> Value:
    kind = t.dtype()
    # rsub(a, b) is b - alpha a.
    first, second = (b, a) if base(t.node) == "rsub" else (a, b)
    if alpha != 1:
        is_value = isinstance(second, Value)
        second = t.emit("Mul", [second, t.value(alpha, kind)]) if is_value else second * alpha
    return t.emit("Add" if base(t.node) == "add" else "Sub", [t.value(first, kind), t.value(second, kind)])


@rule("mul", "multiply")
def _mul(t: Translation, a: Any, b: Any) -> Value:
    return t.emit("Mul", [t.value(a, t.dtype()), t.value(b, t.dtype())])


@rule("div", "true_divide", "divide")
def _div(t: Translation, a: Any, b: Any, rounding: Any = None) -> Value:
    if rounding is not None:
        raise t.refuse("a division that rounds jumps: no ReLU network does")
    return t.emit("Div", [t.value(a, t.dtype()), t.value(b, t.dtype())])


@rule("neg", "negative")
def _neg(t: Translation, x: Value) -> Value:
    return t.emit("Neg", [x])


# What changes nothing in evaluation, and what is set aside or refused by the reader.


@rule("clone", "contiguous", "detach", "alias", "lift_fresh_copy", "lift_fresh", "view_of", "type_as", "_to_copy", "to",
       "requires_grad", "positive", "identity", "double", "float", "half")  # fmt: skip
def _same(t: Translation, x: Value, *_: Any) -> Value:
    source = t.node.args[0]
    if t.dtype() == t.dtype(source):
        return x
    codes = {"float32": 1, "float16": 10, "float64": 11, "bfloat16": 16}
    if t.dtype() not in codes:
        raise t.refuse(f"a cast to {t.dtype()} rounds: no ReLU network does")
    return t.emit("Cast", [x], to=codes[t.dtype()])


@rule("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "native_dropout")
def _dropout(t: Translation, x: Value, p: Any, training: Any) -> Any:
    if training and p:
        raise t.refuse(
            "it is random in training; it must be called with training=False, or belong to a module in .eval()"
        )
    return [x, None] if base(t.node) == "native_dropout" else x


def _plain(operator: str) -> Rule:
    def rule(t: Translation, x: Value, *_: Any) -> Value:
        return t.emit(operator, [x])

    return rule


for _name, _operator_name in {
    "sigmoid": "Sigmoid", "tanh": "Tanh", "gelu": "Gelu", "elu": "Elu", "selu": "Selu", "celu": "Celu", "silu": "Swish",
    "mish": "Mish", "softplus": "Softplus", "softsign": "Softsign", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "pow": "Pow",
    "square": "Pow", "hardswish": "HardSwish", "erf": "Erf", "reciprocal": "Reciprocal", "rsqrt": "Reciprocal", "sin": "Sin",
    "cos": "Cos", "layer_norm": "LayerNormalization", "native_layer_norm": "LayerNormalization",
    "group_norm": "GroupNormalization", "round": "Round", "floor": "Floor",
    "ceil": "Ceil", "sign": "Sign",
}.items():  # fmt: skip
    TABLE[_name] = _plain(_operator_name)


@rule("softmax", "_softmax", "log_softmax", "_log_softmax", "argmax")
def _head(t: Translation, x: Value, dim: Any, *_: Any) -> Value:
    words = {"softmax": "Softmax", "log_softmax": "LogSoftmax", "argmax": "ArgMax"}
    return t.emit(words[base(t.node).lstrip("_")], [x], axis=-1 if dim is None else int(dim))
