"""The exceptions of fiberscope: one tree, `FiberscopeError` at its root.

Every message is a sentence about the input: the file, the layer, what was expected and what was found.
A file that is not there raises Python's own `FileNotFoundError`.
"""

from __future__ import annotations


class FiberscopeError(Exception):
    """Whatever fiberscope raises."""


class ArgumentError(FiberscopeError, ValueError):
    """An argument makes no sense."""


class ShapeError(ArgumentError):
    """Arrays or networks do not fit together."""


class DtypeError(ArgumentError, TypeError):
    """An array holds something that is no real number."""


class DomainError(ArgumentError):
    """A box is empty, flat, or of the wrong length."""


class ModelFileError(FiberscopeError, ValueError):
    """A file cannot be read as a network or as data, or cannot be written."""


class UnsupportedLayerError(FiberscopeError, TypeError):
    """A module has a layer that is no linear map and no ReLU."""


class CertificateError(FiberscopeError, ValueError):
    """Something is no certificate."""


class UndecidedError(FiberscopeError):
    """The theory does not cover the network, or a limit was reached before there was anything to return."""


class OracleError(FiberscopeError):
    """A function that stands for a network failed, or returned something that is no output."""


class DeviceError(FiberscopeError, RuntimeError):
    """A GPU was asked for that is not there, that cannot be used, or that failed."""


class InternalError(FiberscopeError, RuntimeError):
    """A fault of fiberscope itself."""
