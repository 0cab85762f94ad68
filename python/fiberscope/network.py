"""Networks."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _native, _questions
from ._arrays import PRECISIONS, array, doubles
from ._arrays import box as as_box
from ._arrays import points as as_points
from ._terms import Options, terms
from .errors import ArgumentError, DtypeError, ShapeError

if TYPE_CHECKING:
    from typing import Unpack

    import matplotlib.axes
    import torch

    from .fiber import Fiber
    from .results import Canonical, Conservation, Dimension, Folds, Info, Reduced, Regions


class Network:
    """A feed-forward network with ReLU or identity activations.

    `weights` and `biases` have one array per layer, a weight of shape (outputs, inputs). Hidden layers have ReLU
    activations and the last layer none, unless `activations` says otherwise.

    >>> import numpy as np, fiberscope as fs
    >>> net = fs.Network([np.array([[1.0], [-1.0]]), np.array([[1.0, 1.0]])], [np.zeros(2), np.zeros(1)])
    >>> net
    Network(1-2-1, relu, 7 parameters, f64)
    >>> net(np.array([-3.0, 0.0, 0.5]))
    array([[3. ],
           [0. ],
           [0.5]])
    """

    __slots__ = ("_net",)
    _net: _native.Net

    def __init__(
        self,
        weights: Sequence[Any],
        biases: Sequence[Any] | None = None,
        activations: Sequence[str] | None = None,
        *,
        name: str = "network",
    ) -> None:
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
        self._net = _native.Net(layers, precision, name)

    @classmethod
    def _of(cls, net: _native.Net) -> Network:
        made = cls.__new__(cls)
        made._net = net
        return made

    @classmethod
    def from_json(cls, text: str | bytes | dict[str, Any], *, name: str = "network") -> Network:
        """The network of network JSON (text or the object)."""
        if isinstance(text, dict):
            text = json.dumps(text)
        return cls._of(_native.Net.from_bytes(text.encode() if isinstance(text, str) else text, "json", name))

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
        return Saved(*self._net.save(Path(path), precision))

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
        """The weights, one array of shape (outputs, inputs) per layer."""
        return [weight for weight, _, _ in self._net.layers()]

    @property
    def biases(self) -> list[np.ndarray]:
        """The biases, one vector per layer."""
        return [bias for _, bias, _ in self._net.layers()]

    @property
    def activations(self) -> list[str]:
        """ "relu" or "identity" for every layer."""
        return [activation for _, _, activation in self._net.layers()]

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
        """What the reader of a file did beyond copying numbers."""
        return self._net.notes

    @property
    def sha256(self) -> str:
        """The digest by which certificates name the network."""
        return self._net.sha256

    def __call__(self, x: Any) -> np.ndarray:
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
        return isinstance(other, Network) and self.sha256 == other.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self._net.to_json(), self.precision, self.name)

    def __repr__(self) -> str:
        kinds = "-".join(dict.fromkeys(self.activations[:-1])) or "affine"
        widths = "-".join(map(str, self.widths))
        return f"Network({widths}, {kinds}, {self.parameter_count} parameters, {self.precision})"

    def _repr_html_(self) -> str:
        found = self.info()
        return f"<div>{found._repr_html_()}</div>"

    def info(self, box: Any = None, **options: Unpack[Options]) -> Info:
        """What the network is: roles of its neurons, hidden hyperplanes, identifiability.

        >>> import fiberscope as fs
        >>> found = fs.load("zoo:hiding-two").info()
        >>> found.widths, found.hides, found.identifiable
        ([3, 3, 2, 1], [{'layer': 1, 'neuron': 2}], False)
        """
        return _questions.info(self, box, **options)

    def reduce(self, box: Any = None, *, round: bool = False, **options: Unpack[Options]) -> Reduced:
        """The same function with fewer neurons, exactly.

        Steps after which no scales make doubles of the parameters are left out (`left`). With `round` they are taken and the parameters
        rounded; `exact` is false then, and `bound` bounds the change of the outputs on a bounded box.

        >>> import fiberscope as fs
        >>> small = fs.load("zoo:cancelling").reduce()
        >>> small.widths_before > small.widths_after, bool(fs.equiv("zoo:cancelling", small.network))
        (True, True)
        """
        return _questions.reduce(self, box, round, **options)

    def canon(self, **options: Unpack[Options]) -> Canonical:
        """The canonical representative, and a fingerprint of the function.

        The same fingerprint proves the same function. Different ones prove different functions if `complete` is true for both networks;
        otherwise see `meaning`.

        >>> import fiberscope as fs
        >>> a, b = fs.load("zoo:deep"), fs.load("zoo:deep-shuffled")
        >>> a.canon().fingerprint == b.canon().fingerprint
        True
        """
        return _questions.canon(self, **options)

    def relabel(self, **options: Unpack[Options]) -> Network:
        """The network with neurons permuted and scaled at random: other parameters, the same function."""
        with terms(**options) as given:
            return Network._of(_native.relabel(self._net, given)[0])

    def fiber(
        self,
        *,
        orthant: bool = False,
        components: int = 32,
        classes: int | None = None,
        **options: Unpack[Options],
    ) -> Fiber:
        """All parameters with this function: components, dimension, symmetries; points and paths.

        >>> import fiberscope as fs
        >>> fiber = fs.load("zoo:linear-many").fiber()
        >>> len(fiber.sample(3))
        3
        """
        from .fiber import describe

        return describe(self, orthant=orthant, components=components, classes=classes, **options)

    def regions(
        self,
        box: Any = None,
        *,
        max_regions: int | None = None,
        count_only: bool = False,
        method: str | None = None,
        **options: Unpack[Options],
    ) -> Regions:
        """The linear regions, counted exactly, on a box or on all of R^n.

        >>> import fiberscope as fs
        >>> found = fs.load("zoo:abs").regions(box=(-1, 1))
        >>> found.regions, found.f_vector
        (2, [3, 2])
        """
        return _questions.regions(self, box, max_regions, count_only, method, **options)

    def folds(self, box: Any = None, *, max_regions: int = 20_000, **options: Unpack[Options]) -> Folds:
        """Where the function bends: the fold-set, its dependency graph, and whether it identifies the parameters."""
        return _questions.folds(self, box, max_regions, **options)

    def functional_dimension(
        self,
        X: Any = None,
        *,
        box: Any = None,
        spectrum: bool = False,
        float32: bool = False,
        generic: bool = False,
        samples: int = 10_000,
        max_regions: int = 10_000,
        primes: int | None = None,
        memory: int = 12_000,
        **options: Unpack[Options],
    ) -> Dimension:
        """The rank of the parameter Jacobian, exactly: on the batch X, or without one on a decisive set of a box or of R^n.

        >>> import fiberscope as fs
        >>> net = fs.load("zoo:abs")
        >>> found = net.functional_dimension([[-1.0], [2.0], [3.0], [4.0]])
        >>> found.rank, found.parameters, found.regions_sampled
        (3, 7, 2)
        """
        given = (spectrum, float32, generic, samples, max_regions, primes, memory)
        return _questions.dimension(self, X, box, given, **options)

    def ntk(self, X: Any, *, trace: bool = False, memory: int = 12_000, **options: Unpack[Options]) -> np.ndarray:
        """The empirical neural tangent kernel on a batch; with `trace` summed over the outputs."""
        given_points = as_points(X, "X", self.widths[0])
        with terms(**options) as given:
            return _native.kernel(self._net, given_points, trace, memory, given)

    def conserve(
        self,
        X: Any,
        y: Any,
        *,
        loss: str = "mse",
        time: float = 0.5,
        steps: int = 32,
        halvings: int = 4,
        **options: Unpack[Options],
    ) -> Conservation:
        """What gradient flow on these samples conserves, and how it drifts with steps of finite size."""
        return _questions.conserve(self, X, y, loss, time, steps, halvings, **options)

    def slice(self, *, points: Any = None, directions: Any = None, origin: Any = None) -> Network:
        """The network on a plane: through three points, or through `origin` along two directions. It has two inputs.

        >>> import fiberscope as fs
        >>> fs.load("zoo:hiding-two").slice(directions=[[1, 0, 0], [0, 1, 0]]).widths
        [2, 3, 2, 1]
        """
        if (points is None) == (directions is None):
            raise ArgumentError("slice: expected points=[p, q, r] or directions=[u, v]")
        if points is not None:
            return Network._of(_native.slice_through(self._net, _vectors(points, "points", 3))[0])
        start = np.zeros(self.widths[0]) if origin is None else doubles(origin, "origin", 1)
        return Network._of(_native.slice_along(self._net, start.tolist(), _vectors(directions, "directions", 2))[0])

    def plot(
        self,
        box: Any = None,
        *,
        ax: matplotlib.axes.Axes | None = None,
        weights: bool = False,
        **options: Unpack[Options],
    ) -> matplotlib.axes.Axes:
        """Draws the network with matplotlib: regions and bent hyperplanes of two inputs, the graph of one. Returns the axis."""
        from ._plot import plot

        with terms(**options) as given:
            shown = json.loads(_native.plot(self._net, as_box(box), given))
        return plot(shown, ax, weights)

    def to_torch(self, dtype: torch.dtype | None = None) -> torch.nn.Sequential:
        """The network as `torch.nn.Sequential`, in the network's precision unless `dtype` says otherwise."""
        from ._torch import to_torch

        return to_torch(self, dtype)


class Saved(NamedTuple):
    """What was written."""

    precision: str
    """The precision of the file."""
    rounded: int
    """How many parameters were rounded to it."""
    largest_change: float
    """The largest change of a parameter."""


def _vectors(value: Any, what: str, count: int) -> list[list[float]]:
    found = doubles(value, what, 2)
    if len(found) != count:
        raise ShapeError(f"{what}: expected {count} vectors, found {len(found)}")
    return [[float(x) for x in row] for row in found]


def _unpickle(text: bytes, precision: str, name: str) -> Network:
    net = _native.Net.from_bytes(text, "json", name)
    return Network._of(_native.Net(net.layers(), precision, name))


def as_network(value: Any, what: str = "network") -> Network:
    """A network, or the name of a file or `zoo:NAME`, as a network."""
    if isinstance(value, Network):
        return value
    if isinstance(value, (str, os.PathLike)):
        return load(value)
    if type(value).__module__.partition(".")[0] == "torch" or hasattr(value, "named_parameters"):
        from ._torch import from_torch

        return from_torch(value)
    raise DtypeError(f"{what}: expected a Network, the name of a file, or a torch module, found {type(value).__name__}")


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
