"""ONNX models in memory: what is no ONNX file but means one is written as such and read by the one reader of graphs.

Only what the reader needs is written: nodes, constants, the shapes of inputs, and the name of the output.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

import numpy as np

Attribute = int | float | str | Sequence[int]

_FLOAT, _INT64, _FLOAT16, _DOUBLE, _BFLOAT16 = 1, 7, 10, 11, 16
_TYPES = {"float32": _FLOAT, "int64": _INT64, "float16": _FLOAT16, "float64": _DOUBLE, "bfloat16": _BFLOAT16}


class Graph:
    """A graph in the making."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._inputs: list[bytes] = []
        self._names: set[str] = set()

    def input(self, name: str, shape: Sequence[int], dtype: str = "float32") -> str:
        """Adds an input."""
        self._inputs.append(_field(11, _value_info(name, shape, _TYPES[dtype])))
        return name

    def node(self, operator: str, name: str, inputs: Sequence[str], output: str, **attributes: Attribute) -> str:
        """Adds a node with one output; an empty name stands for an input that is left out."""
        body = b"".join(_text(1, each) for each in inputs) + _text(2, output) + _text(3, name) + _text(4, operator)
        body += b"".join(_field(5, _attribute(key, value)) for key, value in attributes.items())
        self._nodes.append(_field(1, body))
        return output

    def constant(self, name: str, value: np.ndarray, dtype: str | None = None) -> str:
        """Adds a constant once; numbers of bfloat16 come as their bits, in uint16."""
        if name not in self._names:
            self._names.add(name)
            kind = _TYPES[dtype or value.dtype.name]
            body = b"".join(_integer(1, size) for size in value.shape) + _integer(2, kind) + _text(8, name)
            little = value.astype(value.dtype.newbyteorder("<"), copy=False)
            self._constants.append(_field(5, body + _field(9, np.ascontiguousarray(little).tobytes())))
        return name

    def model(self, outputs: Sequence[str], opsets: Mapping[str, int] | None = None) -> bytes:
        """The bytes of the model."""
        results = [_field(12, _value_info(name, None, _FLOAT)) for name in outputs]
        graph = b"".join([*self._nodes, _text(2, "module"), *self._constants, *self._inputs, *results])
        imports = opsets or {"": 18}
        versions = [_field(8, _text(1, domain) + _integer(2, version)) for domain, version in imports.items()]
        return b"".join([_integer(1, 8), _text(2, "fiberscope"), _field(7, graph), *versions])


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _integer(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _field(number: int, body: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(body)) + body


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode())


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, int):
        return _text(1, name) + _integer(3, value) + _integer(20, 2)
    if isinstance(value, float):
        return _text(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _integer(20, 1)
    if isinstance(value, str):
        return _text(1, name) + _text(4, value) + _integer(20, 3)
    return _text(1, name) + b"".join(_integer(8, each) for each in value) + _integer(20, 7)


def _value_info(name: str, shape: Sequence[int] | None, kind: int) -> bytes:
    tensor = _integer(1, kind)
    if shape is not None:
        tensor += _field(2, b"".join(_field(1, _integer(1, size)) for size in shape))
    return _text(1, name) + _field(2, _field(1, tensor))
