"""Networks from files, bytes and modules."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from ._parameters import native, of_module
from .errors import ArgumentError, DtypeError
from .network import Network

if TYPE_CHECKING:
    import torch

    from ._parameters import NetworkLike


def as_network(value: NetworkLike, what: str = "network") -> Network:
    """A network, the name of a file or `zoo:NAME`, or a PyTorch module, as a network."""
    return value if isinstance(value, Network) else Network._of(native(value, what))


def load(path: str | os.PathLike[str], *, nnet_normalization: str = "fold") -> Network:
    """Reads .onnx, .safetensors, .npz, .nnet, .json, .pt, .pth, or a built-in network `zoo:NAME`. No code in a file is run.

    >>> import fiberscope as fs
    >>> fs.load("zoo:deep").widths
    [2, 3, 3, 3, 1]
    """
    if nnet_normalization not in ("fold", "ignore"):
        raise ArgumentError(f'nnet_normalization {nnet_normalization!r}: expected "fold" or "ignore"')
    return Network._of(_native.Net.load(os.fspath(path), nnet_normalization == "fold"))


def from_onnx(model: Any) -> Network:
    """The network of an ONNX file, of its bytes, or of an `onnx.ModelProto`."""
    if isinstance(model, (str, os.PathLike)):
        if Path(model).suffix.lower() != ".onnx":
            raise ArgumentError(f"{os.fspath(model)}: expected a file name ending in .onnx")
        return load(model)
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if not isinstance(model, (bytes, bytearray, memoryview)):
        raise DtypeError(f"expected a file name, bytes or an onnx.ModelProto, found {type(model).__name__}")
    return Network._of(_native.Net.from_bytes(bytes(model), "onnx", "ONNX model"))


def from_torch(module: torch.nn.Module) -> Network:
    """The network of a PyTorch module: a chain of Linear, ReLU, Flatten, Identity, Dropout and BatchNorm1d.

    Sequential, modules with a `forward` of their own and functional ReLUs work. Anything else raises
    `UnsupportedLayerError` with the name of the layer. Dropout and batch norm are taken as in evaluation; batch norm is
    folded into the linear layer before it, which rounds. For convolutions export the module to ONNX and use `fs.load`.
    """
    return Network._of(of_module(module))
