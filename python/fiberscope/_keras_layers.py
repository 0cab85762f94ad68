"""What the layers of Keras are in ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._keras_model import Model, rule


@rule("Dense")
def _dense(m: Model, config: dict[str, Any], weights: list[np.ndarray], values: list[str]) -> str:
    kernel, *bias = m.weights_of(weights, 2 if config["use_bias"] else 1)
    if m.ranks[values[0]] == 2:
        inputs = [values[0], m.number(kernel.T, "weight")] + [m.number(each, "bias") for each in bias]
        return m.node("Gemm", inputs, transB=1)
    value = m.node("MatMul", [values[0], m.number(kernel, "weight")])
    return m.node("Add", [value, m.number(bias[0], "bias")]) if bias else value


@rule("Conv1D", "Conv2D", "Conv3D", "DepthwiseConv1D", "DepthwiseConv2D")
def _conv(m: Model, config: dict[str, Any], weights: list[np.ndarray], values: list[str]) -> str:
    kernel, *bias = m.weights_of(weights, 2 if config["use_bias"] else 1)
    groups = int(config.get("groups") or 1)
    if m.kind.startswith("Depthwise"):
        # (..., inputs, multiplier) is one group per input.
        groups = kernel.shape[-2]
        kernel = kernel.reshape(*kernel.shape[:-2], 1, -1)
    made = _convolution(m, config, kernel, m.first(values[0]), groups, [m.number(each, "bias") for each in bias])
    return m.last(made)


def _convolution(
    m: Model, config: dict[str, Any], kernel: np.ndarray, value: str, groups: int, bias: list[str], role: str = "weight"
) -> str:
    """A convolution of an image with its channels first."""
    axes = kernel.ndim - 2
    dilations = _sizes(config["dilation_rate"], axes)
    if config.get("padding") == "causal":
        before = (kernel.shape[0] - 1) * dilations[0]
        value = m.node("Pad", [value, m.integers([0, 0, before, 0, 0, 0]), m.scalar(0)])
        config = {**config, "padding": "valid"}
    turned = np.ascontiguousarray(np.moveaxis(kernel, (-1, -2), (0, 1)))
    return m.node(
        "Conv", [value, m.number(turned, role), *bias], kernel_shape=list(turned.shape[2:]),
        strides=_sizes(config["strides"], axes), auto_pad=m.padding(config), dilations=dilations, group=groups,
    )  # fmt: skip


@rule("SeparableConv1D", "SeparableConv2D")
def _separable(m: Model, config: dict[str, Any], weights: list[np.ndarray], values: list[str]) -> str:
    kernel, pointwise, *bias = m.weights_of(weights, 3 if config["use_bias"] else 2)
    groups = kernel.shape[-2]
    kernel = kernel.reshape(*kernel.shape[:-2], 1, -1)
    value = _convolution(m, config, kernel, m.first(values[0]), groups, [], "depthwise")
    plain = {"strides": 1, "dilation_rate": 1, "padding": "valid"}
    return m.last(_convolution(m, plain, pointwise, value, 1, [m.number(each, "bias") for each in bias]))


@rule("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose")
def _conv_transpose(m: Model, config: dict[str, Any], weights: list[np.ndarray], values: list[str]) -> str:
    kernel, *bias = m.weights_of(weights, 2 if config["use_bias"] else 1)
    axes = kernel.ndim - 2
    strides, dilations = _sizes(config["strides"], axes), _sizes(config["dilation_rate"], axes)
    if config.get("output_padding") is not None:
        raise m.refuse("its output_padding is not read; export the model: model.export('model.onnx', format='onnx')")
    # What the kernel reaches beyond its stride is cut off at both ends by the padding "same", and never missing.
    beyond = [(k - 1) * d + 1 - s for k, d, s in zip(kernel.shape, dilations, strides)]
    cut = [max(each, 0) if m.padding(config) == "SAME_UPPER" else 0 for each in beyond]
    pads = [each // 2 for each in cut] + [each - each // 2 for each in cut]
    # (..., outputs, inputs) here, (inputs, outputs, ...) there.
    turned = np.ascontiguousarray(np.moveaxis(kernel, (-1, -2), (0, 1)))
    inputs = [m.first(values[0]), m.number(turned, "weight")] + [m.number(each, "bias") for each in bias]
    made = m.node(
        "ConvTranspose", inputs, kernel_shape=list(turned.shape[2:]), strides=strides, dilations=dilations, pads=pads,
        output_padding=[max(-each, 0) for each in beyond],
    )  # fmt: skip
    return m.last(made)


def _sizes(given: Any, axes: int) -> list[int]:
    return [int(given)] * axes if isinstance(given, int) else [int(each) for each in given]


@rule("MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "AveragePooling1D", "AveragePooling2D", "AveragePooling3D")
def _pool(m: Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    axes = m.ranks[values[0]] - 2
    kernel = _sizes(config["pool_size"], axes)
    strides = _sizes(config["strides"], axes) if config.get("strides") else kernel
    operator = "MaxPool" if m.kind.startswith("Max") else "AveragePool"
    made = m.node(operator, [m.first(values[0])], kernel_shape=kernel, strides=strides, auto_pad=m.padding(config))
    return m.last(made)


@rule("GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D",
       "GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D")  # fmt: skip
def _global(m: Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    rank, keep = m.ranks[values[0]], bool(config.get("keepdims"))
    operator = "ReduceMax" if "Max" in m.kind else "ReduceMean"
    return m.node(operator, values, rank if keep else 2, axes=list(range(1, rank - 1)), keepdims=int(keep))


@rule("BatchNormalization")
def _batch_norm(m: Model, config: dict[str, Any], weights: list[np.ndarray], values: list[str]) -> str:
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


@rule("ReLU")
def _relu(m: Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    slope = config.get("negative_slope") or 0.0
    if config.get("threshold"):
        raise m.refuse("a threshold that is not 0 makes it jump: no ReLU network does")
    high = config.get("max_value")
    value = m.node("PRelu", [values[0], m.scalar(slope)]) if slope else m.node("Relu", values)
    return value if high is None else m.node("Clip", [value, "", m.scalar(high)])


@rule("LeakyReLU")
def _leaky(m: Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    slope = config.get("negative_slope", config.get("alpha", 0.3))
    return m.node("PRelu", [values[0], m.scalar(float(slope))])


@rule("PReLU")
def _prelu(m: Model, config: dict[str, Any], weights: list[np.ndarray], values: list[str]) -> str:
    (slope,) = m.weights_of(weights, 1)
    return m.node("PRelu", [values[0], m.number(slope, "alpha")])


@rule("Activation")
def _activation(m: Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    return m.activation(config["activation"], values[0])


@rule("Softmax")
def _softmax(m: Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    return m.node("Softmax", values)


@rule("Flatten")
def _flatten(m: Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    return m.node("Flatten", values, 2)


@rule("Reshape")
def _reshape(m: Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    target = [int(each) for each in config["target_shape"]]
    return m.node("Reshape", [values[0], m.integers([1, *target])], 1 + len(target))


@rule("RepeatVector")
def _repeat(m: Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    row = m.node("Reshape", [values[0], m.integers([1, 1, -1])], rank=3)
    return m.node("Expand", [row, m.integers([1, int(config["n"]), 1])])


@rule("Permute")
def _permute(m: Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    return m.node("Transpose", values, perm=[0, *(int(each) for each in config["dims"])])


@rule("Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "GaussianDropout", "GaussianNoise", "AlphaDropout",
       "ActivityRegularization", "Identity")  # fmt: skip
def _nothing(m: Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    return values[0]


@rule("ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D")
def _zero_padding(m: Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    given = config["padding"]
    sides = [given] if isinstance(given, list) and given and isinstance(given[0], int) else given
    pairs = [(int(low), int(high)) for low, high in sides]
    lows, highs = [0, *(low for low, _ in pairs), 0], [0, *(high for _, high in pairs), 0]
    return m.node("Pad", [values[0], m.integers(lows + highs), m.scalar(0)])


@rule("Cropping1D", "Cropping2D", "Cropping3D")
def _cropping(m: Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    given = config["cropping"]
    sides = [given] if given and isinstance(given[0], int) else given
    ends = [-int(high) if high else np.iinfo(np.int64).max for _, high in sides]
    axes = range(1, 1 + len(ends))
    return m.node("Slice", [values[0], *map(m.integers, ([int(low) for low, _ in sides], ends, axes))])


@rule("UpSampling1D", "UpSampling2D", "UpSampling3D")
def _upsampling(m: Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
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


@rule("Add", "Subtract", "Average", "Maximum", "Minimum", "Concatenate")
def _merge(m: Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    words = {"Add": "Sum", "Subtract": "Sub", "Average": "Mean", "Maximum": "Max", "Minimum": "Min"}
    if m.kind == "Concatenate":
        return m.node("Concat", values, axis=int(config.get("axis", -1)))
    return m.node(words[m.kind], values)


@rule("Rescaling")
def _rescaling(m: Model, config: dict[str, Any], _: list[np.ndarray], values: list[str]) -> str:
    return m.node("Add", [m.node("Mul", [values[0], m.scalar(config["scale"])]), m.scalar(config["offset"])])


@rule("Normalization")
def _normalization(m: Model, config: dict[str, Any], weights: list[np.ndarray], values: list[str]) -> str:
    stated = [config.get(key) for key in ("mean", "variance")]
    given = weights[:2] if len(weights) >= 2 else stated
    if any(each is None for each in given):
        raise m.refuse("expected a normalisation that was adapted to data, or given its mean and variance")
    mean, variance = (np.asarray(each, np.float32) for each in given)
    axes = config.get("axis", -1)
    axes = [axes] if isinstance(axes, int) else list(axes or [])
    if any(axis not in (-1, m.ranks[values[0]] - 1) for axis in axes):
        raise m.refuse(f"expected it to act on the last axis, found axis {config['axis']}")
    centre = m.number(mean, "mean")
    deviation = m.number(np.maximum(np.sqrt(variance), np.float32(1e-7)), "deviation")
    if config.get("invert"):
        return m.node("Add", [m.node("Mul", [values[0], deviation]), centre])
    return m.node("Div", [m.node("Sub", [values[0], centre]), deviation])
