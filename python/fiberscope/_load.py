"""Networks from files, bytes and modules."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native, _sklearn
from ._parameters import native, of_file, of_graph, of_module
from ._reading import reading
from .errors import ArgumentError, DtypeError
from .network import Network

if TYPE_CHECKING:
    import torch

    from ._parameters import NetworkLike


def as_network(value: NetworkLike, what: str = "network") -> Network:
    """A network, the name of a file or `zoo:NAME`, or a PyTorch module, as a network."""
    return value if isinstance(value, Network) else Network._of(native(value, what))


def load(
    path: str | os.PathLike[str],
    *,
    nnet_normalization: str = "fold",
    activation: str | None = None,
    output: str | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Network:
    """Reads .onnx, .safetensors, .npz, .nnet, .json, .pt, .pth, .keras, .h5, or a built-in network `zoo:NAME`. No code in a file is run.

    Files that hold weights and biases only (.pt, .safetensors, .npz) do not say what stands between the layers: `activation`,
    "relu" or "identity", states it. Without it ReLU is assumed, and every answer about the network says so. `output` names
    the value of an ONNX graph that is meant, `shapes` gives shapes of its inputs, batch included. Keras files need `h5py`.

    >>> import fiberscope as fs
    >>> fs.load("zoo:deep").widths
    [2, 3, 3, 3, 1]
    """
    return Network._of(of_file(os.fspath(path), reading(nnet_normalization, activation, output, shapes)))


def from_onnx(model: Any, *, output: str | None = None, shapes: Mapping[str, Sequence[int]] | None = None) -> Network:
    """The network of an ONNX file, of its bytes, or of an `onnx.ModelProto`. `output` and `shapes` as in `fs.load`."""
    if isinstance(model, (str, os.PathLike)):
        if Path(model).suffix.lower() != ".onnx":
            raise ArgumentError(f"{os.fspath(model)}: expected a file name ending in .onnx")
        return load(model, output=output, shapes=shapes)
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if not isinstance(model, (bytes, bytearray, memoryview)):
        raise DtypeError(f"expected a file name, bytes or an onnx.ModelProto, found {type(model).__name__}")
    terms = reading("fold", None, output, shapes)
    return Network._of(_native.Net.from_bytes(bytes(model), "onnx", "ONNX model", terms))


def from_torch(module: torch.nn.Module, example_input: Any = None, *, output: str | None = None) -> Network:
    """The network of a PyTorch module, exactly.

    `example_input`, a tensor or a tuple of tensors, has the shape of an input, batch included; modules that begin with a linear
    layer need none. The module is exported with `torch.export` (or traced with `torch.fx`), so that a `forward` of its own,
    views, residual connections, convolutions, pooling, batch norm, buffers and tied weights are read, and compiled and
    DataParallel modules are looked into. Dropout and batch norm are taken as in evaluation; batch norm is folded into other
    layers, and where that rounds, `notes` say so. A final softmax or sigmoid is set aside: the outputs are the values before.

    Neurons keep the names of their modules (`layer_names`). `output` names a layer up to which the module is read. What is not
    piecewise linear raises `UnsupportedLayerError` with the layer and its operator.
    """
    return Network._of(of_module(module, example_input, output))


def from_sklearn(model: Any) -> Network:
    """The network of a fitted scikit-learn model: MLPClassifier, MLPRegressor, linear models, and pipelines of them with scalers.

    Coefficients are taken as they are; scalers become affine maps, and where folding them rounds, `notes` say so. A
    classifier's softmax or logistic function is set aside: the outputs are the values before it.
    """
    return Network._of(of_graph(*_sklearn.onnx_model(model)))
