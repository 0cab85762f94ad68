"""The functional dimension of whatever has parameters: exact where the network can be read, numerical otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _numerical, _torch
from ._load import as_network
from ._numerical import NumericalDimension
from .errors import ArgumentError, UnsupportedLayerError
from .network import Network

if TYPE_CHECKING:
    from ._parameters import NetworkLike
    from ._results.measures import Dimension


def functional_dimension(
    model: NetworkLike, X: Any, *, numerical: bool | None = None, **options: Any
) -> Dimension | NumericalDimension:
    """The rank of the parameter Jacobian on a batch X, one input per entry.

    A network that Fiberscope reads with the parameters that it has gets the exact rank (`Network.functional_dimension`). Any
    other PyTorch module (smooth activations, convolutions, attention) gets a numerical one, from singular values in doubles
    with a tolerance: a `NumericalDimension`, whose `numerical` is true. With `numerical` true or false one of them is
    asked for. A convolution has fewer parameters than the layer it is read as, so modules with convolutions are numerical.

    >>> import fiberscope as fs
    >>> fs.functional_dimension("zoo:abs", [[-1.0], [2.0], [3.0], [4.0]]).rank
    3
    """
    net = None if numerical else exact_network(model)
    if net is not None:
        return net.functional_dimension(X, **options)
    if numerical is False or not _torch.is_module(model):
        raise ArgumentError("the exact functional dimension needs a network that can be read with its own parameters")
    module: Any = model
    return _numerical.functional_dimension(module, X, **options)


def exact_network(model: NetworkLike) -> Network | None:
    """The network with the parameters that the model has; `None` if it has others, or cannot be read."""
    if not _torch.is_module(model):
        return as_network(model)
    module: Any = model
    try:
        net = as_network(model)
    except (UnsupportedLayerError, ArgumentError):
        return None
    trained = sum(value.numel() for value in module.parameters() if value.requires_grad)
    return net if net.parameter_count == trained else None
