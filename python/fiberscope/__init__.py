"""Fiberscope answers, with proof, what people ask about the parameters of ReLU and linear networks.

>>> import fiberscope as fs
>>> a, b = fs.load("zoo:deep"), fs.load("zoo:deep-shuffled")
>>> found = fs.equiv(a, b)
>>> found.verdict, bool(fs.check(found.certificate, a, b))
('equivalent', True)
"""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from . import _native, errors, linear, results
from ._difference import bounds, diff
from ._dimension import functional_dimension
from ._executor import RayExecutor
from ._extract import extract, leak_report
from ._load import as_network as _as_network
from ._load import from_onnx, from_sklearn, from_torch, load
from ._merge import merge
from ._pages import Explorer, explore, report, reproduce, tour
from ._questions import align, check, construct, equiv, functional_dimensions, match_folds, train, volume
from ._survey import survey
from .errors import (
    ArgumentError,
    CertificateError,
    DomainError,
    DtypeError,
    FiberscopeError,
    InternalError,
    ModelFileError,
    OracleError,
    ShapeError,
    UndecidedError,
    UnsupportedLayerError,
)
from .network import Network
from .results import Certificate, Fiber, Witness
from .tracker import Tracker

if TYPE_CHECKING:
    import numpy as np

    from ._parameters import NetworkLike

try:
    __version__ = version("fiberscope")
except PackageNotFoundError:
    __version__ = "0"


def load_data(path: str | os.PathLike[str]) -> np.ndarray:
    """The points of a .csv (header optional), .npy or .npz file, one per row."""
    return _native.load_data(path)


def zoo() -> dict[str, str]:
    """The built-in networks: names for `fs.load` and what each shows.

    >>> import fiberscope as fs
    >>> "zoo:deep" in fs.zoo()
    True
    """
    return {f"zoo:{entry.name}": entry.shows for entry in _native.zoo()}


def save(network: NetworkLike, path: str | os.PathLike[str], *, precision: str | None = None) -> None:
    """Writes a network as .json, .npz, .safetensors or .onnx."""
    _as_network(network).save(path, precision=precision)


__all__ = [
    "ArgumentError", "Certificate", "CertificateError", "DomainError", "DtypeError", "Explorer", "Fiber", "FiberscopeError",
    "InternalError", "ModelFileError", "Network", "OracleError", "RayExecutor", "ShapeError", "Tracker", "UndecidedError",
    "UnsupportedLayerError", "Witness", "align", "bounds", "check", "construct", "diff", "equiv", "errors", "explore", "extract", "from_onnx",
    "from_sklearn", "from_torch", "functional_dimension", "functional_dimensions", "leak_report", "linear", "load", "load_data", "match_folds", "merge", "report", "reproduce", "results", "save", "survey", "tour", "train", "volume", "zoo",
]  # fmt: skip
