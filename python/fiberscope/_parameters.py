"""The parameters of a network: arrays, files and modules in; arrays, outputs and files out."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from . import _keras, _native, _torch
from ._arrays import PRECISIONS, array, doubles
from ._arrays import points as as_points
from ._reading import Reading
from ._seen import compare
from .errors import ArgumentError, DtypeError, ModelFileError, ShapeError, UnsupportedLayerError

if TYPE_CHECKING:
    from typing import TypeAlias

    import torch
    from numpy.typing import ArrayLike

    NetworkLike: TypeAlias = "Parameters | str | os.PathLike[str] | torch.nn.Module"

P = TypeVar("P", bound="Parameters")


@dataclass(frozen=True, slots=True)
class Saved:
    """What was written."""

    precision: str
    """The precision of the file."""
    rounded: int
    """How many parameters were rounded to it."""
    largest_change: float
    """The largest change of a parameter."""


class Parameters:
    """Weights, biases and activations. `Network` adds the questions that can be asked about them."""

    __slots__ = ("_net",)
    _net: _native.Net

    def __init__(
        self,
        weights: Sequence[ArrayLike],
        biases: Sequence[ArrayLike] | None = None,
        activations: Sequence[str] | None = None,
        *,
        name: str = "network",
    ) -> None:
        self._net = assemble(weights, biases, activations, name)

    @classmethod
    def _of(cls: type[P], net: _native.Net) -> P:
        made = cls.__new__(cls)
        made._net = net
        return made

    @classmethod
    def from_json(cls: type[P], text: str | bytes | dict[str, Any], *, name: str = "network") -> P:
        """The network of network JSON (text or the object)."""
        if isinstance(text, dict):
            text = json.dumps(text)
        encoded = text.encode() if isinstance(text, str) else text
        return cls._of(_native.Net.from_bytes(encoded, "json", name, Reading()))

    def to_json(self) -> str:
        """The network as network JSON; doubles survive bit for bit."""
        return self._net.to_json().decode()

    def save(self, path: str | os.PathLike[str], *, precision: str | None = None) -> Saved:
        """Writes .json, .npz, .safetensors or .onnx, in the precision "f32" or "f64" (without it: the network's own).

        >>> import fiberscope as fs, tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "deep.onnx"
        >>> fs.load("zoo:deep").save(path)
        Saved(precision='f64', rounded=0, largest_change=0.0)
        >>> fs.load(path).sha256 == fs.load("zoo:deep").sha256
        True
        """
        if precision not in (None, "f32", "f64"):
            raise ArgumentError(f'precision {precision!r}: expected "f32" or "f64"')
        written = self._net.save(Path(path), precision)
        return Saved(written.precision, written.rounded, written.largest_change)

    def to_torch(self, dtype: torch.dtype | None = None) -> torch.nn.Sequential:
        """The network as `torch.nn.Sequential`, in the network's precision unless `dtype` says otherwise."""
        return _torch.sequential(self._net, dtype)

    @property
    def name(self) -> str:
        """The name in results: where the network comes from."""
        return self._net.name

    @property
    def widths(self) -> list[int]:
        """The widths, inputs first."""
        return self._net.widths

    @property
    def weights(self) -> list[np.ndarray]:
        """The weights, one dense array of shape (outputs, inputs) per layer.

        Large convolutional networks, of which only the entries that are not zero are held, have no such arrays that would
        fit: see `sparse_weights`.
        """
        return [layer.weight for layer in self._net.layers()]

    @property
    def sparse_weights(self) -> list[Any]:
        """The weights as `scipy.sparse.csr_array`, one of shape (outputs, inputs) per layer; this needs scipy.

        >>> import fiberscope as fs
        >>> fs.load("zoo:hiding-two").sparse_weights[0].shape
        (3, 3)
        """
        from scipy.sparse import csr_array

        shapes = zip(self.widths[1:], self.widths)
        parts = zip(self._net.entries(), shapes)
        return [csr_array((numbers, columns, starts), shape=shape) for (starts, columns, numbers), shape in parts]

    @property
    def biases(self) -> list[np.ndarray]:
        """The biases, one vector per layer."""
        return self._net.biases()

    @property
    def activations(self) -> list[str]:
        """ "relu" or "identity" for every layer."""
        return self._net.activations()

    @property
    def parameter_count(self) -> int:
        """The number of weights and biases."""
        return self._net.parameter_count

    @property
    def precision(self) -> str:
        """The precision in which the parameters were stored: "bf16", "f16", "f32" or "f64"."""
        return self._net.precision

    @property
    def notes(self) -> list[str]:
        """What the reader of a file did beyond copying numbers, and what it assumed."""
        return self._net.notes

    @property
    def assumed_activation(self) -> str | None:
        """What hidden layers were taken to do if the file does not say it (.pt, .safetensors and .npz hold weights only)."""
        return None if self._net.assumed is None else self._net.assumed[0]

    @property
    def layer_names(self) -> list[list[tuple[str | None, list[int]]]] | None:
        """What the file or module calls the neurons of every layer: names and shapes of those that belong together."""
        return self._net.layer_names

    def neuron_name(self, layer: int, neuron: int) -> str | None:
        """What the file or module calls a neuron, layer and neuron counted from 1: `layer2.0.conv1[3, 0, 0]`, indexed as PyTorch does."""
        if layer < 1 or neuron < 1:
            raise ArgumentError(f"layer {layer}, neuron {neuron}: expected numbers from 1 on")
        return self._net.neuron_name(layer - 1, neuron - 1)

    @property
    def sha256(self) -> str:
        """The digest by which certificates name the network."""
        return self._net.sha256

    def __call__(self, x: ArrayLike) -> np.ndarray:
        """The outputs for one point (a vector) or a batch (one point per row), in double precision.

        >>> import fiberscope as fs
        >>> net = fs.load("zoo:hiding-two")
        >>> net([1.0, 2.0, 3.0]).shape, net([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]).shape
        ((1,), (2, 1))
        """
        given = doubles(x, "x")
        inputs = self.widths[0]
        if given.ndim == 1 and inputs != 1 or given.ndim == 0:
            one: np.ndarray = self._net.evaluate(as_points(given.reshape(1, -1), "x", inputs))[0]
            return one
        return self._net.evaluate(as_points(given, "x", inputs))

    def __eq__(self, other: object) -> bool:
        """Whether the parameters are equal, number by number. For the functions see `fs.equiv`."""
        return isinstance(other, Parameters) and self.sha256 == other.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __reduce__(self) -> tuple[Callable[..., Parameters], tuple[bytes, dict[str, Any]]]:
        return type(self)._unpickle, (self._net.to_json(), self._net.state())

    @classmethod
    def _unpickle(cls: type[P], text: bytes, state: dict[str, Any]) -> P:
        return cls._of(_native.Net.restored(text, state))

    def __repr__(self) -> str:
        kinds = "-".join(dict.fromkeys(self.activations[:-1])) or "affine"
        widths = "-".join(map(str, self.widths))
        return f"Network({widths}, {kinds}, {self.parameter_count} parameters, {self.precision})"


def assemble(
    weights: Sequence[ArrayLike], biases: Sequence[ArrayLike] | None, activations: Sequence[str] | None, name: str
) -> _native.Net:
    """The network of these arrays, in their lowest precision; without activations, ReLU in all layers but the last."""
    matrices = [array(weight, f"weight of layer {at}", 2) for at, weight in enumerate(weights, 1)]
    if not matrices:
        raise ShapeError("weights: expected at least one layer, found none")
    if biases is None:
        biases = [np.zeros(len(matrix), matrix.dtype) for matrix in matrices]
    vectors = [array(bias, f"bias of layer {at}", 1) for at, bias in enumerate(biases, 1)]
    if len(vectors) != len(matrices):
        raise ShapeError(f"expected as many biases as weights ({len(matrices)}), found {len(vectors)}")
    if activations is None:
        activations = ["relu"] * (len(matrices) - 1) + ["identity"]
    if len(activations) != len(matrices):
        raise ShapeError(f"expected one activation per layer ({len(matrices)}), found {len(activations)}")
    used = {PRECISIONS.get(each.dtype, "f64") for each in matrices + vectors}
    precision = min(used, key=["f16", "f32", "f64"].index)
    layers = [
        (doubles(matrix, "weight"), doubles(vector, "bias"), str(activation))
        for matrix, vector, activation in zip(matrices, vectors, activations)
    ]
    return _native.Net(layers, precision, name)


def of_module(module: torch.nn.Module, example: Any = None, output: str | None = None) -> _native.Net:
    """The network of a PyTorch module."""
    model, value, notes, seen = _torch.onnx_model(module, example, output)
    advice = "; `output=` names a layer up to which the module is read"
    name = type(module).__name__
    net = of_graph(model, name, value, notes, advice)
    more = [] if seen is None else compare(net, seen, name)
    return net.described(net.precision, more, None) if more else net


_VALUES = re.compile(r"(; the value before it can be read|, but either can be read by itself) \(output=[^)]*\)")


def of_graph(model: bytes, name: str, output: str, notes: list[str], advice: str = "") -> _native.Net:
    """The network of a graph that was made of something else, whose parts errors and notes name. The names of its values mean
    nothing to who has the other thing; `advice` says what can be done instead."""
    try:
        net = _native.Net.from_bytes(model, "onnx", name, Reading(output=output))
    except ModelFileError as error:
        if "expected a finite number" in str(error):
            raise ShapeError(f"{name}: {error}") from None
        reason = _VALUES.sub(advice, str(error)).replace("node `", "layer `")
        raise UnsupportedLayerError(f"{name}: {reason}") from None
    return net.described(net.precision, notes, None)


def of_file(path: str, reading: Reading) -> _native.Net:
    """The network of a file."""
    if path.lower().endswith((".keras", ".h5", ".hdf5")):
        return of_graph(*_keras.onnx_model(path))
    return _native.Net.load(path, reading)


def native(value: NetworkLike, what: str = "network") -> _native.Net:
    """A network, the name of a file or `zoo:NAME`, or a PyTorch module, as the native part takes it."""
    if isinstance(value, Parameters):
        return value._net
    if isinstance(value, (str, os.PathLike)):
        return of_file(os.fspath(value), Reading())
    if _torch.is_module(value):
        return of_module(value)
    raise DtypeError(f"{what}: expected a Network, the name of a file, or a torch module, found {type(value).__name__}")
