#!/usr/bin/env python3
"""A second checker for Fiberscope certificates, after the format page.

    python3 check.py CERT A.json B.json [--box LO,HI | --box FILE.json | --space]
                     [--claim equivalent|different|within=EPS|same_class[=M]|other_class[=M]|locally_identifiable] [--time-limit SECONDS] [--json]

Exit code 0: the certificate proves the claim; 1: refused; 2: a file cannot be read; 3: stopped by --time-limit or memory.
Networks are Fiberscope's JSON (network-v1.md) or .npz; `fiberscope convert model.onnx model.json` makes the former.

It shares no code with `fiberscope check` and needs nothing but Python's standard library, so that a reader who trusts
neither has one more reason: two programs, in two languages, follow `certificate-v1.md` (same folder; "page" below) to the
same answer. All arithmetic is on integers and fractions. Nothing here searches, samples or tolerates.

Order of the file: answers; JSON; numbers; networks; intervals; moves; the kinds of evidence; the question; the command.
Layers and neurons count from 1 in certificates and sentences, from 0 inside.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import re
import signal
import struct
import sys
import zipfile
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, floor, gcd, inf, isfinite, lcm, nextafter
from operator import mul
from typing import Any, Callable, Iterable, Iterator, NoReturn, Optional, Sequence

ZERO, ONE = Fraction(0), Fraction(1)

# ---- Answers ---------------------------------------------------------------------------------------------------------


class Unreadable(Exception):
    """The file is not of the form that the page describes."""


class Refused(Exception):
    """The file is readable, and a rule does not hold."""


class Stopped(Exception):
    """Time is over; nothing is said about the certificate."""


@dataclass
class Result:
    """What was proved, or why nothing was."""

    answer: str  # proved, refused, unreadable, stopped
    reason: str = ""
    kind: Optional[str] = None
    claim: Optional[str] = None
    bound: Optional[Fraction] = None
    relative: Optional[Fraction] = None  # of the claim `parameters_agree`
    margin: Optional[Fraction] = None  # of the claim `same_class`
    fiber: Optional[dict[str, int]] = None  # of the claims `locally_identifiable` and `fiber_dimension`
    domain: Any = None

    EXIT = {"proved": 0, "refused": 1, "unreadable": 2, "stopped": 3}

    def to_json(self) -> dict[str, Any]:
        bound, relative, margin = (None if x is None else str(x) for x in (self.bound, self.relative, self.margin))
        return {"valid": self.answer == "proved", "answer": self.answer, "claim": self.claim, "domain": self.domain,
                "bound": bound, "relative": relative, "margin": margin, "fiber_dimension": self.fiber,
                "kind": self.kind, "reason": self.reason[:400]}


def demand(holds: bool, rule: str) -> None:
    if not holds:
        raise Refused(f"broken rule: {rule}")


# ---- JSON, strictly: no duplicate keys, no unknown keys, no floats, one form of numbers (page: Conventions) ----------

Form = Callable[[Any], Any]


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise Unreadable("an object has a key twice")
    return members


def no_float(text: str) -> NoReturn:
    raise Unreadable(f"{text[:40]} is not an integer; other numbers are strings")


def json_integer(text: str) -> int:
    if len(text) > 20 or text == "-0":
        raise Unreadable("an integer is -0 or has more than 20 digits")
    return int(text)


CERTIFICATE_JSON = json.JSONDecoder(object_pairs_hook=unique, parse_int=json_integer, parse_float=no_float,
                                    parse_constant=no_float)
SPACE = re.compile(r"[ \t\n\r]*")


class Reader:
    """Reads a JSON text value by value, so that a tree is never held as a whole."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def peek(self) -> str:
        self.at = SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
        return self.text[self.at:self.at + 1]

    def expect(self, char: str) -> None:
        if self.peek() != char or not char:
            raise Unreadable(f"expected {char!r} at character {self.at + 1}")
        self.at += 1

    def value(self) -> Any:
        self.peek()
        try:
            value, self.at = CERTIFICATE_JSON.raw_decode(self.text, self.at)
        except RecursionError:
            raise Unreadable("values are nested too deeply") from None
        except ValueError as error:
            raise Unreadable(f"not JSON: {error}") from None
        return value

    def key(self, name: str, first: bool = False) -> None:
        """The next member of the object must be `name`: keys stand in the order of the page."""
        self.expect("{" if first else ",")
        if self.peek() != '"' or self.value() != name:
            raise Unreadable(f"expected the key {name!r} before character {self.at + 1}")
        self.expect(":")

    def items(self) -> Iterator[Any]:
        """The items of an array, one by one."""
        self.expect("[")
        if self.peek() == "]":
            self.at += 1
            return
        while True:
            yield self.value()
            if self.peek() == "]":
                self.at += 1
                return
            self.expect(",")

    def end(self) -> None:
        if self.peek():
            raise Unreadable(f"something follows the file's object at character {self.at + 1}")


def natural(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 64:
        raise Unreadable(f"expected an integer, found {short(value)}")
    return value


def index(value: Any) -> int:
    if natural(value) == 0:
        raise Unreadable("layers, neurons and constraints count from 1, found 0")
    return value


def string(value: Any) -> str:
    if type(value) is not str:
        raise Unreadable(f"expected a string, found {short(value)}")
    return value


def one_of(*words: str) -> Form:
    def form(value: Any) -> str:
        if type(value) is not str or value not in words:
            raise Unreadable(f"expected one of {', '.join(words)}, found {short(value)}")
        return value
    return form


NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(?:/([1-9][0-9]*))?\Z", re.ASCII)


def digits(text: str) -> int:
    """The integer of a string of decimal digits, without the quadratic conversion of very long ones."""
    if len(text) <= 4000:
        return int(text)
    half = len(text) // 2
    return digits(text[:-half]) * 10 ** half + digits(text[-half:])


def number(value: Any, longest: int = 131_072) -> Fraction:
    """`"p"` or `"p/q"` in lowest terms, q > 1: one form for each number."""
    match = NUMBER.match(string(value))
    if len(value) > longest:
        raise Unreadable(f"a number has {len(value)} characters; at most {longest} are read")
    if not match:
        raise Unreadable(f"{value[:40]!r} is not a number of the form \"p\" or \"p/q\"")
    sign, p, q = match.group(1), digits(match.group(2)), digits(match.group(3) or "1")
    if (sign and p == 0) or (match.group(3) and (q == 1 or gcd(p, q) != 1)):
        raise Unreadable(f"{value[:40]!r} is not in lowest terms")
    return Fraction(-p if sign else p, q)


def listing(form: Form) -> Form:
    def read(value: Any) -> list[Any]:
        if type(value) is not list:
            raise Unreadable(f"expected a list, found {short(value)}")
        return [form(item) for item in value]
    return read


def row(*forms: Form) -> Form:
    def read(value: Any) -> tuple[Any, ...]:
        if type(value) is not list or len(value) != len(forms):
            raise Unreadable(f"expected a list of {len(forms)} values, found {short(value)}")
        return tuple(form(item) for form, item in zip(forms, value))
    return read


def record(needed: dict[str, Form], optional: Optional[dict[str, tuple[Form, Any]]] = None) -> Form:
    """An object with these keys and no others."""
    may = optional or {}

    def read(value: Any) -> dict[str, Any]:
        if type(value) is not dict:
            raise Unreadable(f"expected an object with the keys {', '.join(needed)}")
        for key in value:
            if key not in needed and key not in may:
                raise Unreadable(f"unknown key {key[:40]!r}")
        for key in needed:
            if key not in value:
                raise Unreadable(f"the key {key!r} is missing")
        read_optional = {key: form(value[key]) if key in value else default for key, (form, default) in may.items()}
        return {**{key: form(value[key]) for key, form in needed.items()}, **read_optional}
    return read


def nullable(form: Form) -> Form:
    return lambda value: None if value is None else form(value)


NUMBERS, INDICES = listing(number), listing(index)
NEURON = record({"unit": index, "weight": NUMBERS, "bias": number, "out": NUMBERS})
LINEAR = record({"remove": INDICES, "insert": listing(NEURON)})
COPY = record({"of": index, "unit": index, "factor": number, "out": NUMBERS})
SHIFT = record({"unit": index, "role": one_of("dead", "linear"), "amount": number, "slopes": listing(NUMBERS)})
SHARE = record({"of": index, "factor": number, "constant": number, "by": listing(record({"unit": index, "weight": number}))})
MUTE = record({"unit": index, "out": NUMBERS, "shares": listing(SHARE)})
PAIRS = listing(row(index, index))
NO_PAIRS: dict[str, tuple[Form, Any]] = {"pairs": (PAIRS, [])}

MOVES: dict[str, tuple[dict[str, Form], dict[str, tuple[Form, Any]]]] = {
    "permute": ({"order": INDICES}, {}),
    "scale": ({"factors": NUMBERS}, {}),
    "drop": ({"units": INDICES}, {}),
    "insert": ({"neurons": listing(NEURON)}, {}),
    "merge": ({"pairs": PAIRS}, {}),
    "split": ({"copies": listing(COPY)}, {}),
    "cancel": ({"keep": index, "drop": index, "linear": LINEAR}, {}),
    "refactor": ({"linear": LINEAR}, {}),
    "reorient": ({"units": INDICES, "linear": LINEAR}, {}),
    "translate": ({"unit": index, "amount": number}, {}),
    "flip": ({"unit": index, "flips": INDICES}, {}),
    "shift": ({"shifts": listing(SHIFT)}, {}),
    "mute": ({"neurons": listing(MUTE)}, {}),
    "fold": ({}, NO_PAIRS),
    "unfold": ({"weight": listing(NUMBERS), "bias": NUMBERS, "activation": one_of("relu", "identity"),
                "next_weight": listing(NUMBERS), "next_bias": NUMBERS}, NO_PAIRS),
}


def move(value: Any) -> dict[str, Any]:
    name = value.get("move") if type(value) is dict else None
    if type(name) is not str or name not in MOVES:
        raise Unreadable(f"expected a move, found {short(name)}")
    needed, optional = MOVES[name]
    return record({"move": string, "layer": index, **needed}, optional)(value)


CHAIN = listing(move)
NUDGE = record({"layer": index, "weight": listing(row(index, index, number)), "bias": listing(row(index, number))})


def step(value: Any) -> dict[str, Any]:
    if type(value) is not dict or len(value) != 1:
        raise Unreadable("a step has one key, moves or nudge")
    return record({"moves": CHAIN} if "moves" in value else {"nudge": NUDGE})(value)


def node(value: Any) -> tuple[str, Any]:
    """A node of a tree as (word, content)."""
    if value in ("equal", "same", "none") and type(value) is str:
        return value, None
    if type(value) is dict and len(value) == 1:
        if "split" in value:
            return "split", row(one_of("a", "b"), index, index)(value["split"])
        if "empty" in value:
            return "empty", listing(row(index, lambda m: number(m, 20_000)))(value["empty"])
    raise Unreadable(f"expected a node of a tree, found {short(value)}")


def digest_form(value: Any) -> str:
    if not re.fullmatch("[0-9a-f]{64}", string(value)):
        raise Unreadable("expected a digest of 64 lower-case hexadecimal digits")
    return value


NAME = record({"sha256": digest_form, "widths": listing(natural)})
BOX = record({"box": listing(row(nullable(number), nullable(number)))})

# ---- Numbers: rounding, and matrices of integers over one denominator ------------------------------------------------


def round_up(x: Fraction, bits: int) -> Fraction:
    """The page's `up`: with x = n / d 2^e, n and d odd, the fraction n / d rounded up to `bits` or one more binary digits."""
    p, q = x.numerator, x.denominator
    if p == 0:
        return x
    twos = (p & -p).bit_length() - (q & -q).bit_length()
    n, d = p >> max(twos, 0), q >> max(-twos, 0)
    if d == 1 and n.bit_length() <= bits:
        return x
    s = bits - n.bit_length() + d.bit_length()
    m = -((-n << max(s, 0)) // (d << max(-s, 0)))
    return Fraction(m << max(twos - s, 0), 1 << max(s - twos, 0))


def about(x: Optional[Fraction], up: bool = False) -> str:
    """A number as sentences name it; with `up` not below its value."""
    if x is None:
        return "infinity"
    try:
        near = float(x)
    except OverflowError:
        return "a number beyond the doubles"
    return repr(nextafter(near, inf) if up and Fraction(near) < x else near)


def round_down(x: Fraction, bits: int) -> Fraction:
    return -round_up(-x, bits)


def over_one_denominator(rows: Sequence[Sequence[Fraction]]) -> tuple[list[list[int]], int]:
    """The rows as integers over one positive denominator."""
    den = lcm(*{x.denominator for entries in rows for x in entries}) if rows else 1
    return [[x.numerator * (den // x.denominator) for x in entries] for entries in rows], den


def product(left: Sequence[Sequence[Fraction]], right: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    """The product of two matrices."""
    (a, da), (b, db) = over_one_denominator(left), over_one_denominator(right)
    columns = list(zip(*b))
    return [[Fraction(sum(map(mul, entries, column)), da * db) for column in columns] for entries in a]


def length(x: Fraction) -> int:
    """The binary digits of numerator and denominator (page: Limits and work)."""
    return x.numerator.bit_length() + x.denominator.bit_length()


def ratio(p: Sequence[Fraction], q: Sequence[Fraction]) -> Optional[Fraction]:
    """The c with p = c q, if q is not zero and there is one."""
    first = next((i for i, x in enumerate(q) if x), None)
    if first is None:
        return None
    c = p[first] / q[first]
    return c if all(x == c * y for x, y in zip(p, q)) else None


# ---- Networks (network-v1.md) and their digest -----------------------------------------------------------------------


@dataclass
class Layer:
    weight: list[list[Fraction]]  # a row per neuron
    bias: list[Fraction]
    relu: bool

    def integers(self) -> tuple[list[list[int]], int]:
        """Rows (weights, bias) over one denominator."""
        return over_one_denominator([[*w, b] for w, b in zip(self.weight, self.bias)])

    @cached_property
    def lengths(self) -> tuple[int, int]:
        """The length of the longest parameter, and of all of them, each counted as at least 64."""
        each = [length(x) for entries in [*self.weight, self.bias] for x in entries]
        return max(each), sum(max(size, 64) for size in each)


Layers = list[Layer]


@dataclass
class Network:
    layers: Layers
    sha256: str

    @property
    def widths(self) -> list[int]:
        return widths(self.layers)


def widths(layers: Layers) -> list[int]:
    return [len(layers[0].weight[0])] + [len(layer.bias) for layer in layers]


def short(value: Any) -> str:
    """A value as sentences name it."""
    text = str(value)
    return text if len(text) <= 60 else text[:60] + "..."


def network_of(rows: list[tuple[list[list[float]], list[float], bool]]) -> Network:
    """A network of doubles, with its digest (page: Digest)."""
    inputs = len(rows[0][0][0]) if rows and rows[0][0] else 0
    if rows and rows[-1][2]:  # the last layer is affine: an identity layer behind a ReLU layer
        n = len(rows[-1][1])
        rows.append(([[float(i == j) for j in range(n)] for i in range(n)], [0.0] * n, False))
    digest = hashlib.sha256(b"fiberscope-network-v1\0" + struct.pack("<Q", len(rows)))
    layers = []
    for l, (weight, bias, relu) in enumerate(rows):
        if not bias or inputs == 0 or len(weight) != len(bias) or any(len(entries) != inputs for entries in weight):
            raise Unreadable(f"layer {l + 1}: weight and bias do not fit each other or the layer before")
        flat = [x + 0.0 for entries in [*weight, bias] for x in entries]  # -0.0 + 0.0 is +0.0
        if not all(map(isfinite, flat)):
            raise Unreadable(f"layer {l + 1}: a number is not finite")
        digest.update(struct.pack("<QQB", len(bias), inputs, relu) + struct.pack(f"<{len(flat)}d", *flat))
        exact = [[Fraction(x) for x in entries] for entries in weight]
        layers.append(Layer(exact, [Fraction(x) for x in bias], relu))
        inputs = len(bias)
    if not layers:
        raise Unreadable("the network has no layers")
    return Network(layers, digest.hexdigest())


def double(value: Any) -> float:
    if type(value) not in (int, float):
        raise Unreadable(f"expected a number, found {short(value)}")
    return float(value)


def no_constant(text: str) -> NoReturn:
    raise Unreadable(f"{text} is not a number")


# Fifteen digits are exact in a double; longer integers are read as the nearest one.
NETWORK_JSON = json.JSONDecoder(object_pairs_hook=unique, parse_constant=no_constant, parse_float=float,
                                parse_int=lambda text: int(text) if len(text) <= 15 else float(text))
NETWORK_ENTRIES = record({"columns": index, "rows": listing(listing(listing(double)))})


def weight_of(value: Any) -> list[list[float]]:
    """A list of rows, or (version 2) an object with the entries that are not zero, zeros written out."""
    if not isinstance(value, dict):
        return listing(listing(double))(value)
    given = NETWORK_ENTRIES(value)
    if given["columns"] * len(given["rows"]) > 1 << 24:
        raise Unreadable("the weight is too large for this checker, which writes zeros out")
    rows = []
    for entries in given["rows"]:
        row, last = [0.0] * given["columns"], 0
        for pair in entries:
            if len(pair) != 2 or pair[0] != int(pair[0]) or not last < pair[0] <= len(row):
                raise Unreadable("expected pairs of a column and a number, columns increasing from 1")
            last = int(pair[0])
            row[last - 1] = pair[1]
        rows.append(row)
    return rows


NETWORK_LAYER = record({"weight": weight_of, "bias": listing(double),
                        "activation": one_of("relu", "identity")})
NETWORK = record({"format": one_of("fiberscope-network"), "version": index, "layers": listing(NETWORK_LAYER)})


@lru_cache(maxsize=64)
def read_network(data: bytes) -> Network:
    """A network from the bytes of a JSON or npz file."""
    if data[:2] == b"PK":
        return read_npz(data)
    try:
        file = NETWORK(NETWORK_JSON.decode(data.decode()))
    except RecursionError:
        raise Unreadable("the network's values are nested too deeply") from None
    except ValueError as error:
        raise Unreadable(f"the network is not JSON: {error}") from None
    if file["version"] not in (1, 2):
        raise Unreadable(f"network version {file['version']}, expected 1 or 2")
    return network_of([(layer["weight"], layer["bias"], layer["activation"] == "relu") for layer in file["layers"]])


NPY_HEADER = re.compile(rb"\{'descr': '<f([248])', 'fortran_order': False, 'shape': \(([0-9]{1,9}),(?: ([0-9]{1,9}))?\), \} *\n")


def read_npz(data: bytes) -> Network:
    """Arrays W1, b1, W2, b2, ... of doubles, singles or halves in C order; hidden layers are ReLU."""
    arrays: dict[str, tuple[tuple[int, ...], tuple[float, ...]]] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                raw = archive.read(name)
                start = 10 if raw[6:7] == b"\1" else 12
                header = NPY_HEADER.match(raw, start)
                if raw[:6] != b"\x93NUMPY" or not header:
                    raise Unreadable(f"npz: {short(name)} is not a numpy array of floats in C order")
                code = {b"8": "d", b"4": "f", b"2": "e"}[header.group(1)]
                shape = tuple(int(size) for size in header.groups()[1:] if size is not None)
                body = raw[header.end():]
                flat = struct.unpack(f"<{len(body) // struct.calcsize(code)}{code}", body)
                arrays[name.removesuffix(".npy")] = shape, flat
    except (zipfile.BadZipFile, struct.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise Unreadable(f"npz: {short(error)}") from None
    depth = len(arrays) // 2
    if set(arrays) != {f"{letter}{l}" for l in range(1, depth + 1) for letter in "Wb"}:
        raise Unreadable(f"npz: expected the arrays W1, b1, ..., found {', '.join(sorted(arrays)[:8])}")
    rows = []
    for l in range(1, depth + 1):
        (shape, flat), (length, bias) = arrays[f"W{l}"], arrays[f"b{l}"]
        if len(shape) != 2 or shape[0] * shape[1] != len(flat) or length != (shape[0],) or len(bias) != shape[0]:
            raise Unreadable(f"npz: W{l} and b{l} do not fit each other")
        weight = [list(flat[i * shape[1]:(i + 1) * shape[1]]) for i in range(shape[0])]
        rows.append((weight, list(bias), l < depth))
    return network_of(rows)


def evaluate(layers: Layers, x: list[Fraction]) -> list[Fraction]:
    """The outputs at x."""
    for layer in layers:
        z = [total for (total,) in product([[*w, b] for w, b in zip(layer.weight, layer.bias)], [[a] for a in [*x, ONE]])]
        x = [max(total, ZERO) for total in z] if layer.relu else z
    return x


# ---- Domains, and interval arithmetic through the layers (page: Moves, "on the domain") ------------------------------

Side = tuple[Optional[Fraction], Optional[Fraction]]  # None: no bound on that side
Box = list[Side]


def read_domain(value: Any, inputs: int) -> Box:
    """`"space"` or a box with an interval that is not empty for every input."""
    if value == "space":
        return [(None, None)] * inputs
    sides: Box = value["box"]
    demand(len(sides) == inputs, f"the box has an interval for each of the {inputs} inputs")
    for i, (lower, upper) in enumerate(sides):
        demand(lower is None or upper is None or lower <= upper, f"the interval of input {i + 1} is not empty")
    return sides


def inside(inner: Box, outer: Box) -> bool:
    return all((low is None or (l is not None and low <= l)) and (high is None or (h is not None and h <= high))
               for (l, h), (low, high) in zip(inner, outer))


def contains(box: Box, x: list[Fraction]) -> bool:
    return inside([(value, value) for value in x], box)


def bounded(box: Box) -> bool:
    return all(lower is not None and upper is not None for lower, upper in box)


def interval(weights: Sequence[Fraction], constant: Fraction, box: Sequence[Side]) -> Side:
    """Least and largest value of an affine function on a box, exactly."""
    ends: list[Optional[Fraction]] = [constant, constant]
    used = [(w, side) for w, side in zip(weights, box) if w]
    for end in (0, 1):
        chosen = [(w, side[end] if w > 0 else side[1 - end]) for w, side in used]
        if any(value is None for _, value in chosen):
            ends[end] = None
        elif chosen:
            (w, x), (dw, dx) = zip(*(over_one_denominator([entries]) for entries in zip(*chosen)))  # type: ignore[arg-type]
            ends[end] = Fraction(sum(map(mul, w[0], x[0])), dw * dx) + constant
    return ends[0], ends[1]


def outward(side: Side, bits: int = 192) -> Side:
    lower, upper = side
    return (None if lower is None else round_down(lower, bits), None if upper is None else round_up(upper, bits))


def activations(layer: Layer, z: Box) -> Box:
    if not layer.relu:
        return z
    return [(ZERO if lower is None else max(lower, ZERO), None if upper is None else max(upper, ZERO)) for lower, upper in z]


class Work:
    """A network being rewritten on a domain, with enclosures of its pre-activations made when they are asked for."""

    def __init__(self, layers: Layers, box: Box) -> None:
        self.layers, self.box = list(layers), box
        self.known: list[Box] = []  # pre-activations of the first layers
        self.limit = (1 << 28) + (1 << 12) * sum(len(layer.bias) * (len(layer.weight[0]) + 1) for layer in layers)

    def changed(self, layer: int) -> None:
        """The layer and those behind it are new. Numbers may not grow without end (page: Limits and work)."""
        del self.known[layer:]
        longest, total = zip(*(each.lengths for each in self.layers))
        demand(max(longest) <= 1 << 16 and sum(total) <= self.limit, "numbers stay short")

    def preactivations(self, layer: int) -> Box:
        while len(self.known) <= layer:
            here = self.layers[len(self.known)]
            inputs = self.inputs(len(self.known))
            self.known.append([outward(interval(w, b, inputs)) for w, b in zip(here.weight, here.bias)])
        return self.known[layer]

    def inputs(self, layer: int) -> Box:
        """A box that holds the inputs of the layer for every point of the domain."""
        return self.box if layer == 0 else activations(self.layers[layer - 1], self.preactivations(layer - 1))

    def nonnegative(self, layer: int, weight: Sequence[Fraction], bias: Fraction) -> bool:
        """Is weight a + bias >= 0 for all inputs a of the layer? By signs behind a ReLU layer, else by intervals."""
        if bias >= 0 and layer > 0 and self.layers[layer - 1].relu and all(w >= 0 for w in weight):
            return True
        lower = interval(weight, bias, self.inputs(layer))[0]
        return lower is not None and lower >= 0

    def linear(self, layer: int, relu: bool, weight: Sequence[Fraction], bias: Fraction) -> bool:
        return not relu or self.nonnegative(layer, weight, bias)

    def dead(self, layer: int, weight: Sequence[Fraction], bias: Fraction) -> bool:
        """The value of the neuron is 0 on the domain."""
        if not self.layers[layer].relu:
            return bias == 0 and not any(weight)
        return self.nonnegative(layer, [-w for w in weight], -bias)


# ---- Moves: each keeps the function on the domain (page: Moves) ------------------------------------------------------


@dataclass
class Neuron:
    """Row (weight, bias) of a hidden layer and its column `out` of the next one."""

    weight: list[Fraction]
    bias: Fraction
    out: list[Fraction]

    @property
    def row(self) -> list[Fraction]:
        return [*self.weight, self.bias]


def neurons_of(work: Work, layer: int) -> list[Neuron]:
    here, columns = work.layers[layer], zip(*work.layers[layer + 1].weight)
    return [Neuron(w, b, list(v)) for w, b, v in zip(here.weight, here.bias, columns)]


def set_neurons(work: Work, layer: int, neurons: list[Neuron], next_bias: Optional[list[Fraction]] = None) -> None:
    demand(len(neurons) > 0, "at least one neuron stays")
    here, after = work.layers[layer], work.layers[layer + 1]
    work.layers[layer] = Layer([n.weight for n in neurons], [n.bias for n in neurons], here.relu)
    weight = [list(entries) for entries in zip(*(n.out for n in neurons))]
    work.layers[layer + 1] = Layer(weight, after.bias if next_bias is None else next_bias, after.relu)
    work.changed(layer)


def chosen(units: Iterable[int], count: int) -> list[int]:
    """Distinct existing units, from 0."""
    units = list(units)
    demand(all(unit <= count for unit in units), f"the neurons exist (the layer has {count})")
    demand(len(set(units)) == len(units), "no neuron is named twice")
    return [unit - 1 for unit in units]


def factor_allowed(relu: bool, c: Optional[Fraction]) -> bool:
    """Positive; any number but zero where the layer is an identity."""
    return c is not None and (c > 0 or (c < 0 and not relu))


def placed(work: Work, layer: int, value: dict[str, Any]) -> Neuron:
    fits = (len(value["weight"]), len(value["out"])) == (len(work.layers[layer].weight[0]), len(work.layers[layer + 1].bias))
    demand(fits, "the neuron has as many weights as the layer before and the layer behind have neurons")
    return Neuron(value["weight"], value["bias"], value["out"])


def interleave(kept: list[Neuron], new: list[tuple[int, Neuron]]) -> list[Neuron]:
    """New neurons at their places (from 1, increasing) in the result, the others between them in their order."""
    places = [place for place, _ in new]
    count = len(kept) + len(new)
    demand(all(p < q for p, q in zip(places, places[1:])), "the places of the new neurons increase")
    demand(not places or places[-1] <= count, f"the places exist (the resulting layer has {count} neurons)")
    at, rest = dict(new), iter(kept)
    return [at[place] if place in at else next(rest) for place in range(1, count + 1)]


def affine_sum(neurons: Sequence[Neuron], outputs: int, inputs: int) -> list[list[Fraction]]:
    """The matrix of sum v_j (w_j, b_j): a row (linear part, constant) per neuron of the next layer."""
    if not neurons:
        return [[ZERO] * (inputs + 1) for _ in range(outputs)]
    return product(list(zip(*(n.out for n in neurons))), [n.row for n in neurons])


def linear_change(work: Work, layer: int, change: dict[str, Any], neurons: list[Optional[Neuron]],
                  term: list[Neuron]) -> None:
    """Replaces linear neurons by others; `neurons` are those that stay or may be removed (None: gone already), `term`
    the summands v_j z_j of T. Removed and inserted neurons are z >= 0 on the domain, so relu(z) = z in both sums."""
    here, after = work.layers[layer], work.layers[layer + 1]
    remove = chosen(change["remove"], len(neurons))
    sums = list(term)
    for j in remove:
        gone = neurons[j]
        demand(gone is not None, "neurons of the move are not removed as linear ones")
        assert gone is not None
        demand(work.linear(layer, here.relu, gone.weight, gone.bias), f"neuron {j + 1} is linear (z >= 0 on the domain)")
        sums.append(gone)
    new = [(value["unit"], placed(work, layer, value)) for value in change["insert"]]
    for place, neuron in new:
        demand(work.linear(layer, here.relu, neuron.weight, neuron.bias), f"inserted neuron {place} is linear")
        sums.append(Neuron(neuron.weight, neuron.bias, [-v for v in neuron.out]))
    total = affine_sum(sums, len(after.bias), len(here.weight[0]))
    demand(not any(x for entries in total for x in entries[:-1]), "the linear neurons have the same sum before and after")
    kept = [n for j, n in enumerate(neurons) if n is not None and j not in remove]
    set_neurons(work, layer, interleave(kept, new), [b + entries[-1] for b, entries in zip(after.bias, total)])


def permute(work: Work, layer: int, order: list[int]) -> None:
    """A sum does not depend on the order of its terms."""
    neurons = neurons_of(work, layer)
    demand(len(order) == len(neurons), "the order names every neuron once")
    set_neurons(work, layer, [neurons[j] for j in chosen(order, len(neurons))])


def scale(work: Work, layer: int, factors: list[Fraction]) -> None:
    """v relu(z) = (v / c) relu(c z) for c > 0; (v / c) (c z) for an identity."""
    neurons = neurons_of(work, layer)
    demand(len(factors) == len(neurons), "there is a factor for every neuron")
    demand(all(factor_allowed(work.layers[layer].relu, c) for c in factors), "factors are positive")
    set_neurons(work, layer, [Neuron([c * w for w in n.weight], c * n.bias, [v / c for v in n.out])
                              for c, n in zip(factors, neurons)])


def drop(work: Work, layer: int, units: list[int]) -> None:
    """The terms are 0 on the domain."""
    neurons = neurons_of(work, layer)
    gone = set(chosen(units, len(neurons)))
    for j in gone:
        useless = not any(neurons[j].out) or work.dead(layer, neurons[j].weight, neurons[j].bias)
        demand(useless, f"neuron {j + 1} is dead on the domain or has no outgoing weights")
    set_neurons(work, layer, [n for j, n in enumerate(neurons) if j not in gone])


def insert(work: Work, layer: int, neurons: list[dict[str, Any]]) -> None:
    """The terms are 0 on the domain."""
    new = [(value["unit"], placed(work, layer, value)) for value in neurons]
    for place, n in new:
        useless = not any(n.out) or work.dead(layer, n.weight, n.bias)
        demand(useless, f"inserted neuron {place} is dead on the domain or has no outgoing weights")
    set_neurons(work, layer, interleave(neurons_of(work, layer), new))


def merge(work: Work, layer: int, pairs: list[tuple[int, int]]) -> None:
    """v_d relu(c z_k) = c v_d relu(z_k)."""
    neurons = neurons_of(work, layer)
    gone = set(chosen((d for _, d in pairs), len(neurons)))
    for keep, d in pairs:
        (k,) = chosen([keep], len(neurons))
        demand(k not in gone, f"neuron {keep} is not dropped as well")
        c = ratio(neurons[d - 1].row, neurons[k].row)
        demand(factor_allowed(work.layers[layer].relu, c), f"row {d} is a positive multiple of row {keep}, which is not zero")
        assert c is not None
        neurons[k] = Neuron(neurons[k].weight, neurons[k].bias, [v + c * u for v, u in zip(neurons[k].out, neurons[d - 1].out)])
    set_neurons(work, layer, [n for j, n in enumerate(neurons) if j not in gone])


def split(work: Work, layer: int, copies: list[dict[str, Any]]) -> None:
    """The inverse of merge."""
    neurons = neurons_of(work, layer)
    inputs, outputs = len(work.layers[layer].weight[0]), len(work.layers[layer + 1].bias)
    blank = Neuron([ZERO] * inputs, ZERO, [ZERO] * outputs)
    result = interleave(neurons, [(copy["unit"], blank) for copy in copies])
    places = {copy["unit"] for copy in copies}
    for copy in copies:
        (of,) = chosen([copy["of"]], len(result))
        demand(copy["of"] not in places, f"neuron {copy['of']} is not a copy itself")
        demand(factor_allowed(work.layers[layer].relu, copy["factor"]), "factors are positive")
        demand(len(copy["out"]) == outputs, "the copy has an outgoing weight for every neuron of the next layer")
        n, c = result[of], copy["factor"]
        result[copy["unit"] - 1] = Neuron([c * w for w in n.weight], c * n.bias, copy["out"])
        result[of] = Neuron(n.weight, n.bias, [v - c * u for v, u in zip(n.out, copy["out"])])
    set_neurons(work, layer, result)


def cancel(work: Work, layer: int, keep: int, drop: int, linear: dict[str, Any]) -> None:
    """v_d relu(-c z_k) = c v_d relu(z_k) + v_d z_d, because relu(-z) = relu(z) - z. (False for an identity.)"""
    demand(work.layers[layer].relu, "the layer is ReLU")
    neurons: list[Optional[Neuron]] = list(neurons_of(work, layer))
    k, d = chosen([keep, drop], len(neurons))
    kept, gone = neurons[k], neurons[d]
    assert kept is not None and gone is not None
    c = ratio(gone.row, kept.row)
    demand(c is not None and c < 0, "row `drop` is a negative multiple of row `keep`, which is not zero")
    assert c is not None
    demand(keep not in linear["remove"], "neurons of the move are not removed as linear ones")
    neurons[k] = Neuron(kept.weight, kept.bias, [v - c * u for v, u in zip(kept.out, gone.out)])
    neurons[d] = None
    linear_change(work, layer, linear, neurons, [gone])


def refactor(work: Work, layer: int, linear: dict[str, Any]) -> None:
    """Linear neurons add an affine function; others with the same sum add the same one."""
    linear_change(work, layer, linear, list(neurons_of(work, layer)), [])


def reorient(work: Work, layer: int, units: list[int], linear: dict[str, Any]) -> None:
    """v relu(z) = v relu(-z) + v z. (False for an identity.)"""
    demand(work.layers[layer].relu, "the layer is ReLU")
    neurons = neurons_of(work, layer)
    turned = chosen(units, len(neurons))
    demand(not set(units) & set(linear["remove"]), "neurons of the move are not removed as linear ones")
    after: list[Optional[Neuron]] = list(neurons)
    for j in turned:
        after[j] = Neuron([-w for w in neurons[j].weight], -neurons[j].bias, neurons[j].out)
    linear_change(work, layer, linear, after, [neurons[j] for j in turned])


def hidden_by(work: Work, layer: int, k: int, t: Fraction, blind: bool) -> list[int]:
    """The neurons of the next layer that are not dead by signs (with `blind`: and see neuron k, W[j,k] != 0); each must hide
    neuron k, also after a translation by t."""
    demand(layer + 2 < len(work.layers), "the next layer is hidden")
    here, after = work.layers[layer], work.layers[layer + 1]
    demand(here.relu and after.relu, "both layers are ReLU")
    alive = []
    for j, (entries, b) in enumerate(zip(after.weight, after.bias)):
        if (b <= 0 and all(w <= 0 for w in entries)) or (blind and entries[k] == 0):
            continue
        hides = entries[k] > 0 and all(w <= 0 for i, w in enumerate(entries) if i != k) and b <= 0
        demand(hides, f"neuron {j + 1} of the next layer is dead by signs or hides neuron {k + 1}")
        demand(b - t * entries[k] <= 0, f"the bias of neuron {j + 1} of the next layer stays nonpositive")
        alive.append(j)
    return alive


def translate(work: Work, layer: int, unit: int, amount: Fraction) -> None:
    """With R <= 0 and w > 0: relu(w relu(z) + R) = relu(w z + R), before and after; z + t and -t w cancel."""
    (k,) = chosen([unit], len(work.layers[layer].bias))
    alive = hidden_by(work, layer, k, amount, blind=True)
    here, after = work.layers[layer], work.layers[layer + 1]
    bias = [b + amount if i == k else b for i, b in enumerate(here.bias)]
    next_bias = [b - amount * after.weight[j][k] if j in alive else b for j, b in enumerate(after.bias)]
    work.layers[layer] = Layer(here.weight, bias, here.relu)
    work.layers[layer + 1] = Layer(after.weight, next_bias, after.relu)
    work.changed(layer)


def flip(work: Work, layer: int, unit: int, flips: list[int]) -> None:
    """As for translate relu(z_k) may be replaced by z_k, which takes up z_i of relu(z_i) = z_i + relu(-z_i)."""
    neurons = neurons_of(work, layer)
    (k,), turned = chosen([unit], len(neurons)), chosen(flips, len(neurons))
    alive = hidden_by(work, layer, k, ZERO, blind=False)
    demand(len(alive) == 1, "exactly one neuron of the next layer is not dead by signs")
    demand(k not in turned, "the hidden neuron is not flipped itself")
    entries = work.layers[layer + 1].weight[alive[0]]
    gained = neurons[k].row
    for i in turned:
        c = entries[i] / entries[k]
        gained = [g + c * w for g, w in zip(gained, neurons[i].row)]
        neurons[i] = Neuron([-w for w in neurons[i].weight], -neurons[i].bias, neurons[i].out)
    neurons[k] = Neuron(gained[:-1], gained[-1], neurons[k].out)
    set_neurons(work, layer, neurons)


def upper_bound(work: Work, layer: int, weight: list[Fraction], bias: Fraction, slopes: list[list[Fraction]]) -> Optional[Fraction]:
    """An upper bound of weight a + bias over the inputs a of the layer (page: Shift): replace relu(z_j) by a line that lies
    above it where its coefficient is positive, below it where negative, layer by layer back to the domain."""
    c, beta = weight, bias
    for l in range(layer - 1, -1, -1):
        here = work.layers[l]
        p: list[Fraction] = []  # c_j a_j <= p_j z_j + (a constant that goes to beta)
        for cj, (low, high), s in zip(c, work.preactivations(l), slopes[l]):
            if cj == 0 or (here.relu and high is not None and high <= 0):
                p.append(ZERO)
            elif not here.relu or (low is not None and low >= 0):
                p.append(cj)
            elif cj < 0:
                p.append(cj * s)  # relu(z) >= s z for 0 <= s <= 1
            else:
                if low is None or high is None:
                    return None
                slope = single(high / (high - low))
                # A convex function is below a line on [low, high] if it is at both ends, whatever the slope.
                p.append(cj * slope)
                beta += cj * max(-slope * low, high - slope * high)
        ((*c, constant),) = product([p], [[*w, b] for w, b in zip(here.weight, here.bias)])
        beta += constant
        if l > 0 and work.layers[l - 1].relu:  # nonnegative inputs: larger coefficients bound as well
            c = [round_up(cj, 128) for cj in c]
    return interval(c, beta, work.box)[1]


def single(x: Fraction) -> Fraction:
    """The single-precision number next to x."""
    return Fraction(struct.unpack("<f", struct.pack("<f", float(x)))[0])


def shift(work: Work, layer: int, shifts: list[dict[str, Any]]) -> None:
    """A neuron that is dead (linear) with both biases has the value 0 (z + amount, whose constant b_{l+1} takes back)."""
    demand(work.layers[layer].relu, "the layer is ReLU")
    neurons, next_bias = neurons_of(work, layer), list(work.layers[layer + 1].bias)
    for value, j in zip(shifts, chosen((value["unit"] for value in shifts), len(neurons))):
        slopes, amount, dead = value["slopes"], value["amount"], value["role"] == "dead"
        fits = [len(entries) for entries in slopes] == widths(work.layers)[1:layer + 1]
        demand(fits, "there is a slope for every neuron of the layers before")
        demand(all(0 <= s <= 1 for entries in slopes for s in entries), "slopes lie between 0 and 1")
        sign = 1 if dead else -1
        n = neurons[j]
        bound = upper_bound(work, layer, [sign * w for w in n.weight], sign * n.bias, slopes)
        holds = bound is not None and bound + max(sign * amount, ZERO) <= 0
        demand(holds, f"neuron {j + 1} is {value['role']} on the domain before and after the shift")
        neurons[j] = Neuron(n.weight, n.bias + amount, n.out)
        if not dead:
            next_bias = [b - amount * v for b, v in zip(next_bias, n.out)]
    set_neurons(work, layer, neurons, next_bias)


def demand_outweighed(work: Work, layer: int, n: Neuron, shares: list[dict[str, Any]]) -> None:
    """z <= 0 (page: Mute): w_k relu(h_k) <= sum_i t_ki relu(h_i) + g_k for every k with w_k > 0, and the sum over k of the
    right sides is at most sum_i -w_i relu(h_i) - b over the i with w_i < 0."""
    demand(layer > 0 and work.layers[layer - 1].relu, "there is a ReLU layer before")
    before, box = work.layers[layer - 1], work.inputs(layer - 1)
    spent = [ZERO] * len(before.bias)
    constants, named = n.bias, set()
    for share in shares:
        k, c, g = share["of"] - 1, share["factor"], share["constant"]
        demand(k < len(spent) and n.weight[k] > 0 and k not in named, f"neuron {k + 1} could turn the neuron on and has one share")
        demand(c >= n.weight[k] and g >= 0, "a factor is at least the weight, a constant not negative")
        named.add(k)
        constants += g
        slope, most = [c * w for w in before.weight[k]], c * before.bias[k] - g
        for each in share["by"]:
            i, t = each["unit"] - 1, each["weight"]
            demand(i < len(spent) and t >= 0, "counterweights are not negative and of neurons that there are")
            spent[i] += t
            slope = [s - t * w for s, w in zip(slope, before.weight[i])]
            most -= t * before.bias[i]
        upper = interval(slope, most, box)[1]
        demand(upper is not None and upper <= 0, f"the share of neuron {k + 1} outweighs it")
    demand(all(t <= max(-w, ZERO) for t, w in zip(spent, n.weight)), "no counterweight is used twice")
    demand(constants <= 0, "the bias outweighs the constants")
    for k, w in enumerate(n.weight):
        harmless = w <= 0 or k in named or work.dead(layer - 1, before.weight[k], before.bias[k])
        demand(harmless, f"neuron {k + 1} has a share or is dead")


def mute(work: Work, layer: int, neurons: list[dict[str, Any]]) -> None:
    """The outgoing weights of a dead neuron are free."""
    demand(work.layers[layer].relu, "the layer is ReLU")
    after = neurons_of(work, layer)
    for value, j in zip(neurons, chosen((value["unit"] for value in neurons), len(after))):
        demand(len(value["out"]) == len(after[j].out), "the neuron has an outgoing weight for every neuron of the next layer")
        demand_outweighed(work, layer, after[j], value["shares"])
        after[j] = Neuron(after[j].weight, after[j].bias, value["out"])
    set_neurons(work, layer, after)


def folded(work: Work, layer: int, first: Layer, second: Layer, pairs: list[tuple[int, int]]) -> Layer:
    """The one layer that `first` at place `layer`, followed by `second`, amounts to."""
    n = len(first.bias)
    named = chosen((unit for pair in pairs for unit in pair), n)
    demand(first.relu or not pairs, "pairs stand in ReLU layers only")
    columns = list(zip(*second.weight))
    kept = [Neuron(w, b, list(v)) for w, b, v in zip(first.weight, first.bias, columns)]
    for i, j in zip(named[::2], named[1::2]):
        # v_i relu(z_i) + v_j relu(-c z_i) = v_i (relu(z_i) - relu(-z_i)) = v_i z_i
        c = ratio(kept[j].row, kept[i].row)
        demand(c is not None and c < 0, f"row {j + 1} is a negative multiple of row {i + 1}, which is not zero")
        assert c is not None
        demand(all(v == c * u for v, u in zip(kept[i].out, kept[j].out)), f"neurons {i + 1} and {j + 1} have opposite columns")
    for j in set(range(n)) - set(named):
        demand(work.linear(layer, first.relu, kept[j].weight, kept[j].bias), f"neuron {j + 1} is linear (z >= 0 on the domain)")
    left_out = set(named[1::2])
    total = affine_sum([x for j, x in enumerate(kept) if j not in left_out], len(second.bias), len(first.weight[0]))
    return Layer([entries[:-1] for entries in total], [b + entries[-1] for b, entries in zip(second.bias, total)], second.relu)


def fold(work: Work, layer: int, pairs: list[tuple[int, int]]) -> None:
    """Linear neurons pass affine functions on."""
    one = folded(work, layer, work.layers[layer], work.layers[layer + 1], pairs)
    work.layers[layer:layer + 2] = [one]
    work.changed(layer)


def unfold(work: Work, layer: int, weight: list[list[Fraction]], bias: list[Fraction], activation: str,
           next_weight: list[list[Fraction]], next_bias: list[Fraction], pairs: list[tuple[int, int]]) -> None:
    """The inverse of fold."""
    here = work.layers[layer]
    shapes = len(bias) > 0 and len(weight) == len(bias) and all(len(w) == len(here.weight[0]) for w in weight)
    shapes = shapes and len(next_weight) == len(next_bias) and all(len(w) == len(bias) for w in next_weight)
    demand(shapes and len(next_bias) == len(here.bias), "the two layers fit each other and the place of the one")
    first, second = Layer(weight, bias, activation == "relu"), Layer(next_weight, next_bias, here.relu)
    demand(folded(work, layer, first, second, pairs) == here, "the two layers multiply out to the given one")
    work.layers[layer:layer + 1] = [first, second]
    work.changed(layer)


APPLY: dict[str, Callable[..., None]] = {
    "permute": permute, "scale": scale, "drop": drop, "insert": insert, "merge": merge, "split": split, "cancel": cancel,
    "refactor": refactor, "reorient": reorient, "translate": translate, "flip": flip, "shift": shift, "mute": mute,
    "fold": fold, "unfold": unfold,
}


def demand_short(work: Work, each: dict[str, Any]) -> None:
    """Moves whose result could be too long are refused before they are tried (page: Limits and work)."""
    name, here = each["move"], work.layers[each["layer"] - 1]
    inputs, outputs = len(here.weight[0]), len(here.bias)
    if name != "unfold":
        outputs = len(work.layers[each["layer"]].bias)
    size = 0
    if name == "unfold":
        rows = [*each["weight"], each["bias"], *each["next_weight"], each["next_bias"]]
        size = inputs * len(each["next_weight"]) * max(2 * max((length(x) for entries in rows for x in entries), default=0), 64)
    elif name in ("fold", "cancel", "refactor", "reorient"):
        new = each["linear"]["insert"] if "linear" in each else []
        longest = [length(x) for n in new for x in [*n["weight"], n["bias"], *n["out"]]]
        longest += [layer.lengths[0] for layer in work.layers[each["layer"] - 1:each["layer"] + 1]]
        size = inputs * outputs * max(2 * max(longest), 64)
    elif name == "mute":
        shares = [share for neuron in each["neurons"] for share in neuron["shares"]]
        numbers = [[share["factor"], share["constant"], *(t["weight"] for t in share["by"])] for share in shares]
        demand(all(sum(map(length, entries)) <= 1 << 16 for entries in numbers), "numbers of a share stay short")
    elif name == "scale":
        size = sum(map(length, each["factors"])) * (inputs + 1 + outputs)
    elif name == "split":
        size = sum(length(copy["factor"]) + max(here.lengths[0], 64) for copy in each["copies"]) * (inputs + 1 + outputs)
    demand(size <= work.limit, "numbers stay short")


def apply(work: Work, chain: list[dict[str, Any]], name: str) -> None:
    for place, each in enumerate(chain):
        layer, depth = each["layer"], len(work.layers)
        arguments = {key: value for key, value in each.items() if key not in ("move", "layer")}
        try:
            exists = layer <= depth if each["move"] == "unfold" else layer < depth
            demand(exists, f"the layer exists (the network has {depth - 1} hidden layers)")
            demand_short(work, each)
            APPLY[each["move"]](work, layer - 1, **arguments)
        except Refused as error:
            raise Refused(f"move {place + 1} on {name} ({each['move']}, layer {layer}): {error}") from None


def both(a: Layers, b: Layers, box: Box, evidence: dict[str, Any]) -> tuple[Work, Work]:
    """Both networks after their moves."""
    works = Work(a, box), Work(b, box)
    apply(works[0], evidence["a"], "A")
    apply(works[1], evidence["b"], "B")
    return works


def demand_same_shape(a: Layers, b: Layers) -> None:
    demand(widths(a) == widths(b), f"after the moves the widths are the same (A has {short(widths(a))}, B {short(widths(b))})")
    demand([layer.relu for layer in a] == [layer.relu for layer in b], "after the moves the activations are the same")


# ---- Evidence: moves, close, rounding, nudged, witness ---------------------------------------------------------------

Claim = tuple[str, Optional[Fraction]]  # its name, and its bound
EQUIVALENT: Claim = ("equivalent", None)


def check_moves(a: Layers, b: Layers, box: Box, evidence: dict[str, Any]) -> Claim:
    """f_A = f_result = f_B."""
    first, second = both(a, b, box, evidence)
    demand_same_shape(first.layers, second.layers)
    for l, (p, q) in enumerate(zip(first.layers, second.layers)):
        demand(p == q, f"after the moves layer {l + 1} is the same in both networks")
    return EQUIVALENT


def check_close(a: Layers, b: Layers, box: Box, evidence: dict[str, Any]) -> Claim:
    """A statement about parameters, which are compared one by one."""
    relative: Fraction = evidence["relative"]
    demand(0 <= relative <= Fraction(1, 1024), "`relative` lies between 0 and 1/1024")
    first, second = both(a, b, box, evidence)
    demand_same_shape(first.layers, second.layers)
    for l, (p, q) in enumerate(zip(first.layers, second.layers)):
        for mine, other in zip([*p.weight, p.bias], [*q.weight, q.bias]):
            agree = all(abs(x - y) <= relative * max(abs(x), abs(y)) for x, y in zip(mine, other) if x != y)
            demand(agree, f"the parameters of layer {l + 1} differ by at most `relative`")
    return "parameters_agree", None


def magnitude(side: Side) -> Fraction:
    lower, upper = side
    assert lower is not None and upper is not None
    return max(abs(lower), abs(upper))


def difference(first: Work, second: Layers) -> Fraction:
    """A bound for the difference of the outputs on the (bounded) domain (page: rounding): with W a - W' a' =
    W' (a - a') + (W - W') a and |relu(z) - relu(z')| <= |z - z'|."""
    d = [ZERO] * len(first.box)
    for l, (p, q) in enumerate(zip(first.layers, second)):
        sizes = [magnitude(side) for side in first.inputs(l)]
        def bound(j: int) -> Fraction:
            total = abs(p.bias[j] - q.bias[j])
            for w, v, before, size in zip(p.weight[j], q.weight[j], d, sizes):
                if before:
                    total += abs(v) * before
                if w != v:
                    total += abs(w - v) * size
            return round_up(total, 64)
        d = [bound(j) for j in range(len(p.bias))]
    return max(d)


def check_rounding(a: Layers, b: Layers, box: Box, evidence: dict[str, Any]) -> Claim:
    demand(bounded(box), "the domain is a box that is bounded on all sides")
    first, second = both(a, b, box, evidence)
    demand_same_shape(first.layers, second.layers)
    found = difference(first, second.layers)
    demand(found <= evidence["bound"], f"the propagated bound (about {about(found)}) is at most the stated one")
    return "equivalent_up_to_rounding", evidence["bound"]


def nudge(work: Work, change: dict[str, Any]) -> Fraction:
    """Sets parameters of one layer; a bound for what that does to the outputs."""
    demand(change["layer"] <= len(work.layers), f"the layer exists (the network has {len(work.layers)})")
    l = change["layer"] - 1
    before = Work(work.layers, work.box)
    before.known = list(work.known)
    layer = work.layers[l]
    weight, bias = [list(entries) for entries in layer.weight], list(layer.bias)
    for i, j, value in change["weight"]:
        demand(i <= len(weight) and j <= len(weight[0]), f"weight[{i}][{j}] of layer {l + 1} exists")
        weight[i - 1][j - 1] = value
    for i, value in change["bias"]:
        demand(i <= len(bias), f"bias[{i}] of layer {l + 1} exists")
        bias[i - 1] = value
    work.layers[l] = Layer(weight, bias, layer.relu)
    work.changed(l)
    return difference(before, work.layers)


def check_nudged(a: Layers, b: Layers, box: Box, evidence: dict[str, Any]) -> Claim:
    """Moves change nothing, nudges little: the triangle inequality."""
    demand(bounded(box), "the domain is a box that is bounded on all sides")
    works, total = (Work(a, box), Work(b, box)), ZERO
    for work, name in zip(works, "AB"):
        for each in evidence[name.lower()]:
            if "moves" in each:
                apply(work, each["moves"], name)
            else:
                total += nudge(work, each["nudge"])
    demand_same_shape(works[0].layers, works[1].layers)
    total += difference(works[0], works[1].layers)
    demand(total <= evidence["bound"], f"the propagated bound (about {about(total)}) is at most the stated one")
    return "equivalent_up_to_rounding", evidence["bound"]


def check_witness(a: Layers, b: Layers, box: Box, evidence: dict[str, Any]) -> Claim:
    x = evidence["x"]
    demand(len(x) == len(box), f"x has {len(box)} entries")
    demand(contains(box, x), "x lies in the domain")
    for name, layers in (("a", a), ("b", b)):
        demand(evaluate(layers, x) == evidence[name], f"the stated value of {name.upper()} is its value at x")
    demand(evidence["a"] != evidence["b"], "the values of A and B differ")
    return "different", None


# ---- Evidence: rank --------------------------------------------------------------------------------------------------

PRIME = (1 << 61) - 1
Pattern = list[list[bool]]  # which neurons of each hidden layer are on
Residues = list[list[int]]
Direction = dict[tuple[int, int], list[int]]  # how the rows of hidden neurons move


class Echelon:
    """Rows modulo the prime, each with a 1 in its leading column and zeros before it."""

    def __init__(self) -> None:
        self.rows: dict[int, list[int]] = {}

    def insert(self, row: list[int], width: int | None = None) -> list[int] | None:
        """Adds a row that is independent within the first `width` columns; what is left of another one."""
        for lead in range(len(row) if width is None else width):
            if row[lead]:
                if lead not in self.rows:
                    scale = pow(row[lead], -1, PRIME)
                    self.rows[lead] = [x * scale % PRIME for x in row]
                    return None
                factor, earlier = row[lead], self.rows[lead]
                row = row[:lead] + [(x - factor * e) % PRIME for x, e in zip(row[lead:], earlier[lead:])]
        return row

    def reduce(self) -> None:
        """Clears the leading columns in all other rows."""
        for lead in sorted(self.rows):
            for other in [at for at in self.rows if at < lead and self.rows[at][lead]]:
                factor = self.rows[other][lead]
                self.rows[other] = [(x - factor * e) % PRIME for x, e in zip(self.rows[other], self.rows[lead])]


class Masked:
    """A network whose neurons are on or off, as residues: linear in homogeneous coordinates (x, t)."""

    def __init__(self, layers: Layers) -> None:
        def residue(x: Fraction) -> int:
            return x.numerator * pow(x.denominator, -1, PRIME) % PRIME
        self.rows = [[[residue(x) for x in [*w, b]] for w, b in zip(layer.weight, layer.bias)] for layer in layers]
        self.columns = len(layers[0].weight[0]) + 1

    def activations(self, pattern: Pattern, up_to: int) -> list[Residues]:
        """(h_l, t) of the layers 0 to `up_to` at the unit vectors: a row per neuron, and one for t."""
        values: list[Residues] = [[[int(i == j) for j in range(self.columns)] for i in range(self.columns)]]
        last = values[0][-1]
        for l in range(up_to):
            off = [0] * self.columns
            values.append([self.combine(w, values[l]) if on else off for w, on in zip(self.rows[l], pattern[l])] + [last])
        return values

    def combine(self, weights: list[int], rows: Residues) -> list[int]:
        used = [(w, entries) for w, entries in zip(weights, rows) if w]
        return [sum(w * entries[b] for w, entries in used) % PRIME for b in range(self.columns)]

    def vectors(self, layer: int, unit: int, inputs: Residues) -> list[list[tuple[int, int]]]:
        """Vectors that span the kernel of z of a hidden neuron (all unit vectors for an output), as places and entries."""
        if layer + 1 == len(self.rows):
            return [[(b, 1)] for b in range(self.columns)]
        z = self.combine(self.rows[layer][unit], inputs)
        pivot = next((b for b in range(self.columns) if z[b]), None)
        if pivot is None:
            return []
        scale = pow(z[pivot], -1, PRIME)
        return [[(b, 1), (pivot, -z[b] * scale % PRIME)] for b in range(self.columns) if b != pivot]

    def reaches_output(self, pattern: Pattern, layer: int, unit: int) -> bool:
        signal = [w[unit] for w in self.rows[layer + 1]]
        for l in range(layer + 1, len(self.rows) - 1):
            signal = [s if on else 0 for s, on in zip(signal, pattern[l])]
            signal = [sum(map(mul, w, signal)) % PRIME for w in self.rows[l + 1]]
        return any(signal)

    def own_rows(self, pattern: Pattern, layer: int, unit: int) -> Iterator[list[int]]:
        """dz with respect to the neuron's own row: (h, t) of the layer before at the vectors."""
        inputs = self.activations(pattern, layer)[layer]
        for vector in self.vectors(layer, unit, inputs):
            yield [sum(entries[b] * x for b, x in vector) % PRIME for entries in inputs]

    def rows_along(self, pattern: Pattern, layer: int, unit: int, directions: list[Direction]) -> Iterator[list[int]]:
        """dz with respect to the neuron's own row, and behind it the derivative of z along each direction."""
        values = self.activations(pattern, layer)
        signal, totals = [int(i == unit) for i in range(len(self.rows[layer]))], [[0] * self.columns for _ in directions]
        for l in range(layer - 1, -1, -1):
            used = [(s, w) for s, w in zip(signal, self.rows[l + 1]) if s]
            signal = [sum(s * w[k] for s, w in used) % PRIME if on else 0 for k, on in enumerate(pattern[l])]
            for total, direction in zip(totals, directions):
                moved = [(signal[i], row) for (at, i), row in direction.items() if at == l and signal[i]]
                if moved:
                    change = self.combine([sum(s * row[k] for s, row in moved) % PRIME for k in range(len(moved[0][1]))], values[l])
                    total[:] = [(x + y) % PRIME for x, y in zip(total, change)]
        for vector in self.vectors(layer, unit, values[layer]):
            yield [sum(entries[b] * x for b, x in vector) % PRIME for entries in [*values[layer], *totals]]


def rank_of_all_rows(masked: Masked, folds: list[tuple[int, int, Pattern]], points: list[Pattern]) -> int:
    """The rank of the rows of folds and points, on directions that keep one parameter in the row of each hidden neuron.

    Directions along which no fold so far changes are kept: each says which rows of hidden layers move, and how."""
    directions: list[Direction] = []
    rank, depth, total = 0, len(masked.rows) - 1, sum(len(row) for rows in masked.rows for row in rows)
    for layer in range(depth):
        forbidden, fresh, count = Echelon(), list[Direction](), len(directions)
        follow: list[Direction] = [{} for _ in directions]
        for unit, weights in enumerate(masked.rows[layer]):
            own, width = Echelon(), len(weights)
            fixed = next((at for at, w in enumerate(weights) if w), None)
            for fold in folds:
                if fold[:2] == (layer, unit) and masked.reaches_output(fold[2], layer, unit):
                    for entries in masked.rows_along(fold[2], layer, unit, directions):
                        if fixed is not None:
                            entries[fixed] = 0
                        if (left := own.insert(entries, width)) is not None:
                            forbidden.insert(left[width:])
            rank += len(own.rows)
            own.reduce()
            for k in range(count):
                row = [-own.rows[at][width + k] % PRIME if at in own.rows else 0 for at in range(width)]
                if any(row):
                    follow[k][layer, unit] = row
            for free in range(width):
                if free != fixed and free not in own.rows:
                    row = [-own.rows[at][free] % PRIME if at in own.rows else int(at == free) for at in range(width)]
                    fresh.append({(layer, unit): row})
            demand((count + len(fresh)) * total <= 1 << 27, "folds do not leave too many dimensions open")
        for direction, rows in zip(directions, follow):
            direction.update(rows)
        rank += len(forbidden.rows)
        forbidden.reduce()
        kept = []
        for k in range(count):
            if k not in forbidden.rows:
                direction = dict(directions[k])
                for lead, entries in forbidden.rows.items():
                    for place, row in directions[lead].items() if entries[k] else []:
                        old = direction.get(place, [0] * len(row))
                        direction[place] = [(x - entries[k] * y) % PRIME for x, y in zip(old, row)]
                kept.append(direction)
        directions = kept + fresh
    # The part before is the same for all outputs.
    last, forbidden, width, outputs = Echelon(), Echelon(), len(masked.rows[depth][0]), len(masked.rows[depth])
    for pattern in points:
        of_outputs = zip(*(masked.rows_along(pattern, depth, output, directions) for output in range(outputs)))
        for rows in of_outputs:
            left = last.insert(rows[0][:width] + [x for row in rows for x in row[width:]], width)
            for at in range(width, len(left or []), max(len(directions), 1)):
                forbidden.insert((left or [])[at:at + len(directions)])
    return rank + len(last.rows) * outputs + len(forbidden.rows)


def pattern_at(exact: list[tuple[list[list[int]], int]], x: list[Fraction], point: int) -> Pattern:
    """Which hidden neurons are on at x; none may be exactly 0."""
    values, scale = over_one_denominator([x])
    value, pattern = values[0], []
    for l, (rows, denominator) in enumerate(exact):
        z = [sum(map(mul, w, value)) + w[-1] * scale for w in rows]
        demand(all(z), f"no pre-activation of layer {l + 1} is zero at point {point}")
        pattern.append([entry > 0 for entry in z])
        value, scale = [max(entry, 0) for entry in z], scale * denominator
    return pattern


def check_rank(a: Layers, _: Layers, box: Box, evidence: dict[str, Any]) -> Claim:
    """The rank of the differentials of the outputs with respect to the parameters is at least the stated one."""
    size = [len(layer.bias) * (len(layer.weight[0]) + 1) for layer in a]
    hidden = sum(len(layer.bias) for layer in a[:-1])
    demand(all(layer.relu for layer in a[:-1]), "all hidden layers are ReLU layers")
    demand(sum(size) <= 1 << 24, "there are not too many parameters")
    demand((max(widths(a)) + 1) * (len(box) + 1) <= 1 << 25, "the widest layer times the inputs is not too large")
    demand(len(evidence["points"]) > 0, "there is at least one point")
    exact, patterns = [layer.integers() for layer in a[:-1]], []
    for place, x in enumerate(evidence["points"], 1):
        demand(len(x) == len(box), f"point {place} has {len(box)} entries")
        demand(all((low is None or low < value) and (high is None or value < high) for value, (low, high) in zip(x, box)),
               f"point {place} lies in the interior of the domain")
        patterns.append(pattern_at(exact, x, place))

    def pattern(number: int) -> Pattern:
        demand(number <= len(patterns), f"there is a point {number}")
        return patterns[number - 1]
    for number in [*evidence["outputs"], *evidence["extra"]]:
        pattern(number)
    masked, last, blocks = Masked(a), (1, 1), Echelon()
    own: dict[tuple[int, int], Echelon] = {}
    for layer, unit, p, q in evidence["folds"]:
        demand(layer < len(a) and unit <= len(a[layer - 1].bias), f"there is a hidden neuron {unit} of layer {layer}")
        one, other = pattern(p), pattern(q)
        places = [(l + 1, i + 1) for l in range(len(one)) for i in range(len(one[l])) if one[l][i] != other[l][i]]
        demand(places == [(layer, unit)], f"patterns of the points {p} and {q} differ in neuron {unit} of layer {layer} only")
        demand(last <= (layer, unit), "folds stand in the order of their neurons")
        last = (layer, unit)
    demand(evidence["rank"] <= sum(size) - hidden, "the stated rank is at most parameters minus hidden neurons")
    if evidence["extra"]:
        points = [pattern(number) for number in [*evidence["outputs"], *evidence["extra"]]]
        rank = rank_of_all_rows(masked, [(fold[0] - 1, fold[1] - 1, pattern(fold[2])) for fold in evidence["folds"]], points)
    else:
        for layer, unit, p, _q in evidence["folds"]:
            if masked.reaches_output(pattern(p), layer - 1, unit - 1):
                for entries in masked.own_rows(pattern(p), layer - 1, unit - 1):
                    own.setdefault((layer, unit), Echelon()).insert(entries)
        for number in evidence["outputs"]:
            for entries in masked.own_rows(pattern(number), len(a) - 1, 0):
                blocks.insert(entries)
        rank = sum(len(echelon.rows) for echelon in own.values()) + len(blocks.rows) * len(a[-1].bias)
    demand(rank >= evidence["rank"], f"the rank ({rank}) is at least the stated one")
    evidence["fiber"] = {"upper": sum(size) - evidence["rank"], "scalings": hidden}
    return ("locally_identifiable" if evidence["rank"] == sum(size) - hidden else "fiber_dimension"), None


# ---- Evidence: hyperplanes -------------------------------------------------------------------------------------------

Representation = tuple[dict[tuple[Fraction, ...], list[Fraction]], list[list[Fraction]]]


def representation(work: Work, layer: int) -> Representation:
    """sum a_i relu(u_i x + t_i) + (M, beta) on the box of the layer's inputs; key (u_i, t_i) with first entry 1, a_i != 0."""
    here, after = work.layers[layer], work.layers[layer + 1]
    box = work.inputs(layer)
    bends: dict[tuple[Fraction, ...], list[Fraction]] = {}
    affine: list[Neuron] = []
    fixed = [lower if lower == upper else None for lower, upper in box]  # these inputs are put into the biases
    for n in neurons_of(work, layer):
        bias = sum((w * value for w, value in zip(n.weight, fixed) if value is not None), n.bias)
        n = Neuron([w if value is None else ZERO for w, value in zip(n.weight, fixed)], bias, n.out)
        lower, upper = interval(n.weight, n.bias, box)
        if not here.relu or (lower is not None and lower >= 0):
            affine.append(n)
        elif upper is None or upper > 0:  # z takes both signs in the interior, so its weight is not zero
            c = next(w for w in n.weight if w)
            key = tuple(w / c for w in n.row)
            before = bends.get(key, [ZERO] * len(n.out))
            bends[key] = [x + abs(c) * v for x, v in zip(before, n.out)]
            if c < 0:  # relu(c y) = |c| relu(y) + c y, and c y = z
                affine.append(n)
    rest = affine_sum(affine, len(after.bias), len(box))
    rest = [[*entries[:-1], entries[-1] + b] for entries, b in zip(rest, after.bias)]
    return {key: value for key, value in bends.items() if any(value)}, rest


def check_hyperplanes(a: Layers, b: Layers, box: Box, evidence: dict[str, Any]) -> Claim:
    """Equal representations are equal functions of the inputs of the last hidden layer, which are the same in both."""
    prefix = evidence["prefix"]
    first, second = both(a, b, box, evidence)
    for name, work in (("A", first), ("B", second)):
        hidden = len(work.layers) - 1
        demand(hidden == prefix + 1, f"{name} has {prefix + 1} hidden layers after the moves (it has {hidden})")
    for l in range(prefix):
        demand(first.layers[l] == second.layers[l], f"layer {l + 1} of the prefix is the same in both networks")
    equal = representation(first, prefix) == representation(second, prefix)
    demand(equal, "the hyperplanes, their weights and the affine rest are the same")
    return EQUIVALENT


# ---- Evidence: line --------------------------------------------------------------------------------------------------


@dataclass
class Affine:
    """A list of affine functions of the free inputs: integer rows (coefficients, constant) over one denominator."""

    rows: list[list[int]]
    den: int

    def through(self, layer: Layer) -> "Affine":
        """The pre-activations of the layer whose inputs these are."""
        weight, den = layer.integers()
        columns = list(zip(*self.rows))
        constants = columns.pop()
        rows = [[sum(map(mul, w, column)) for column in columns] + [sum(map(mul, w, constants)) + w[-1] * self.den]
                for w in weight]
        return Affine(rows, den * self.den)

    def masked(self, on: Sequence[bool]) -> "Affine":
        zero = [0] * len(self.rows[0])
        return Affine([entries if keep else zero for entries, keep in zip(self.rows, on)], self.den)


def free_inputs(free: list[int], values: list[Fraction]) -> Affine:
    """The inputs as functions of the free ones, the others fixed."""
    (constants,), den = over_one_denominator([values])
    rows = [[den if f == i else 0 for f in free] + [0 if i in free else constants[i]] for i in range(len(values))]
    return Affine(rows, den)


def line_variable(a: Layers, b: Layers, box: Box, space: bool) -> tuple[int, list[Fraction]]:
    """The input that varies, and the values of the others."""
    free = [i for i, (lower, upper) in enumerate(box) if lower is None or lower != upper]
    if len(free) == 1:
        return free[0], [ZERO if i in free else side[0] or ZERO for i, side in enumerate(box)]
    rows = [w for layers in (a, b) for w in layers[0].weight if any(w)]
    one = space and len(rows) > 0 and all(ratio(w, rows[0]) is not None for w in rows)
    demand(one, "the domain fixes all inputs but one, or is all of space, where the rows of the first layers are multiples of one")
    return next(i for i, w in enumerate(rows[0]) if w), [ZERO] * len(box)


def check_line(a: Layers, b: Layers, box: Box, evidence: dict[str, Any], space: bool, points: Iterable[Any]) -> Claim:
    """Between consecutive points no neuron changes its sign, so both networks are affine there; the same affine
    functions on all intervals are the same function, by continuity."""
    first, second = both(a, b, box, evidence)
    free, values = line_variable(first.layers, second.layers, box, space)
    start = free_inputs([free], values)
    left, end = box[free]

    def piece(low: Optional[Fraction], high: Optional[Fraction]) -> None:
        outputs = [on_interval(work.layers, start, low, high) for work in (first, second)]
        same = all(p * outputs[1].den == q * outputs[0].den for mine, other in zip(outputs[0].rows, outputs[1].rows)
                   for p, q in zip(mine, other))
        demand(same, f"the outputs are the same between {about(low)} and {about(high)}")

    for value in points:
        point = number(value)
        inner = (left is None or left < point) and (end is None or point < end)
        demand(inner, "breakpoints increase and lie inside the domain")
        piece(left, point)
        left = point
    piece(left, end)
    return EQUIVALENT


def on_interval(layers: Layers, start: Affine, low: Optional[Fraction], high: Optional[Fraction]) -> Affine:
    """The outputs as affine functions of t on the interval; every hidden ReLU neuron must keep its sign there."""
    values = start
    for l, layer in enumerate(layers):
        values = values.through(layer)
        if layer.relu:
            on = []
            for j, (slope, constant) in enumerate(values.rows):
                # the signs of slope t + constant towards both ends
                ends = [-slope or constant if low is None else slope * low.numerator + constant * low.denominator,
                        slope or constant if high is None else slope * high.numerator + constant * high.denominator]
                keeps = min(ends) >= 0 or max(ends) <= 0
                demand(keeps, f"neuron {j + 1} of layer {l + 1} keeps its sign between {about(low)} and {about(high)}")
                on.append(min(ends) >= 0)
            values = values.masked(on)
    return values


# ---- Evidence: regions -----------------------------------------------------------------------------------------------


@dataclass
class Frontier:
    """A network on a path: the first ReLU layer that is not decided (or the output layer), its pre-activations as affine
    functions on the cell, and which of its neurons are on (True) or off."""

    layers: Layers
    layer: int
    z: Affine
    decided: dict[int, bool] = field(default_factory=dict)

    @staticmethod
    def after(layers: Layers, layer: int, inputs: Affine) -> "Frontier":
        z = inputs.through(layers[layer])
        while not layers[layer].relu and layer + 1 < len(layers):
            layer += 1
            z = z.through(layers[layer])
        return Frontier(layers, layer, z)

    def decide(self, unit: int, on: bool) -> "Frontier":
        decided = {**self.decided, unit: on}
        if len(decided) < len(self.z.rows):
            return Frontier(self.layers, self.layer, self.z, decided)
        inputs = self.z.masked([decided[j] for j in range(len(decided))])
        return Frontier.after(self.layers, self.layer + 1, inputs)

    @property
    def complete(self) -> bool:
        return not self.layers[self.layer].relu


Constraint = tuple[list[int], int]  # an affine function that is >= 0 on the cell, over a positive denominator


@dataclass
class Path:
    sides: tuple[Frontier, Frontier]
    constraints: tuple[Constraint, ...]


def check_regions(a: Layers, b: Layers, box: Box, evidence: dict[str, Any], nodes: Iterable[Any]) -> Claim:
    """The tree covers the domain; on every leaf that holds an inner point the functions are equal (page: regions). With a
    prefix that is so of the layers behind it, on a box that holds their inputs (page: tails)."""
    works, prefix = both(a, b, box, evidence), evidence.get("prefix", 0)
    for name, work in zip("AB", works):
        hidden = len(work.layers) - 1
        demand(hidden >= prefix, f"{name} has at least {prefix} hidden layers after the moves (it has {hidden})")
    for l in range(prefix):
        demand(works[0].layers[l] == works[1].layers[l], f"layer {l + 1} of the prefix is the same in both networks")
    box = works[0].inputs(prefix)
    first, second = (work.layers[prefix:] for work in works)
    free = [i for i, (lower, upper) in enumerate(box) if lower is None or lower != upper]
    neurons = [sum(len(layer.bias) for layer in layers) for layers in (first, second)]
    lengths = [sum(layer.lengths[0] for layer in layers) for layers in (first, second)]
    fits = sum(neurons) * (len(free) + 1) <= 1 << 22 and sum(map(mul, neurons, lengths)) * (len(free) + 1) <= 1 << 34
    demand(fits, "the affine functions of all neurons fit into the limits")
    start = free_inputs(free, [ZERO if i in free else lower or ZERO for i, (lower, _) in enumerate(box)])
    roots = Frontier.after(first, 0, start), Frontier.after(second, 0, start)
    waiting: list[Optional[Path]] = [Path(roots, tuple(domain_constraints(free, box)))]  # None: must be "none"
    place = 0
    for value in nodes:
        place += 1
        word, content = node(value)
        demand(len(waiting) > 0, f"nothing follows a complete tree, not even node {place}")
        path = waiting.pop()
        try:
            demand((path is None) == (word == "none"), '"none" stands exactly where a constant neuron misses a side')
            if path is None:
                continue
            if word == "split":
                waiting.extend(split_path(path, *content))
            elif word == "empty":
                check_empty(path, content)
            elif word == "equal":
                check_equal(path)
            else:
                check_same(path, [box[i] for i in free])
        except Refused as error:
            raise Refused(f"node {place}: {error}") from None
    demand(not waiting, f"the tree is complete (after node {place}, {len(waiting)} subtrees are missing)")
    return EQUIVALENT


def domain_constraints(free: list[int], box: Box) -> Iterator[Constraint]:
    for place, i in enumerate(free):
        lower, upper = box[i]
        for sign, end in ((1, lower), (-1, upper)):  # sign (x - end) >= 0
            if end is not None:
                entries = [0] * (len(free) + 1)
                entries[place], entries[-1] = sign * end.denominator, -sign * end.numerator
                yield entries, end.denominator


def split_path(path: Path, name: str, layer: int, unit: int) -> list[Optional[Path]]:
    """The two subtrees' paths, the one where the neuron is on last (it is read first)."""
    which = 0 if name == "a" else 1
    side = path.sides[which]
    title = f"neuron {unit} of layer {layer} of {name.upper()}"
    exists = layer < len(side.layers) and unit <= len(side.layers[layer - 1].bias) and side.layers[layer - 1].relu
    demand(exists, f"{title} is a hidden ReLU neuron")
    demand(layer - 1 == side.layer, f"{title} is split once, after the layers before it")
    demand(unit - 1 not in side.decided, f"{title} is split once")
    z = side.z.rows[unit - 1]
    constant = not any(z[:-1])
    result: list[Optional[Path]] = []
    for on in (False, True):
        if constant and on != (z[-1] >= 0):
            result.append(None)
            continue
        sides = list(path.sides)
        sides[which] = side.decide(unit - 1, on)
        new: tuple[Constraint, ...] = () if constant else ((z if on else [-x for x in z], side.z.den),)
        result.append(Path((sides[0], sides[1]), path.constraints + new))
    return result


def check_empty(path: Path, pairs: list[tuple[int, Fraction]]) -> None:
    """Farkas: sum m_c g_c is a constant <= 0, so not all g_c are positive at a point."""
    demand(len(pairs) > 0, "an empty leaf has a multiplier")
    for c, m in pairs:
        demand(c <= len(path.constraints), f"constraint {c} exists (the path has {len(path.constraints)})")
        demand(m > 0 and m.denominator == 1, "a multiplier is a positive integer")
    used = [(*path.constraints[c - 1], m.numerator) for c, m in pairs]
    den = lcm(*(d for _, d, _ in used))
    total = [sum(column) for column in zip(*([m * (den // d) * x for x in g] for g, d, m in used))]
    demand(not any(total[:-1]), "the gradients with their multipliers add up to zero")
    demand(total[-1] <= 0, "the constants with their multipliers add up to at most zero")


def check_equal(path: Path) -> None:
    a, b = path.sides
    demand(a.complete and b.complete, "every hidden ReLU neuron is decided")
    same = all(p * b.z.den == q * a.z.den for mine, other in zip(a.z.rows, b.z.rows) for p, q in zip(mine, other))
    demand(same, "the affine maps of A and B are equal")


# ---- The leaf "same": value numbering --------------------------------------------------------------------------------

# A linear expression over variables 0, 1, ... (the free inputs, then the atoms); its constant has the key CONSTANT.
# Coefficients are not zero.
Expression = dict[int, Fraction]
CONSTANT = -1


def combine(terms: Iterable[tuple[Fraction, Expression]]) -> Expression:
    total: Expression = {}
    for c, expression in terms:
        for key, value in expression.items():
            total[key] = total.get(key, ZERO) + c * value
    return {key: value for key, value in total.items() if value}


def direction(e: Expression) -> tuple[Fraction, tuple[tuple[int, Fraction], ...]]:
    """(s, k) with e = s k, k the same for all multiples of e."""
    variables = sorted(e)
    lead = e[variables[1] if variables[0] == CONSTANT and len(variables) > 1 else variables[0]]
    return lead, tuple((key, e[key] / lead) for key in variables)


def counts(factor: Fraction) -> bool:
    return length(factor) <= 4096


class Values:
    """The atoms of a leaf and what is known about them."""

    def __init__(self, box: Box, constraints: Sequence[Constraint], limit: int) -> None:
        self.box = list(box)  # of the inputs, then of the atoms
        self.inputs = len(box)
        self.atoms: list[Expression] = []  # atom i is relu of this
        self.met: dict[Any, tuple[Fraction, Expression]] = {}  # direction k -> (s, relu(s k))
        self.sides: dict[Any, list[tuple[Fraction, Fraction]]] = {}  # direction k -> (s, t): s k + t >= 0 on the cell
        self.products, self.limit = 0, limit
        for entries, den in constraints:
            s, k = direction({i: Fraction(x, den) for i, x in enumerate(entries[:-1]) if x})
            self.sides.setdefault(k, []).append((s, Fraction(entries[-1], den)))

    def interval(self, e: Expression) -> Side:
        keys = [key for key in e if key != CONSTANT]
        return interval([e[key] for key in keys], e.get(CONSTANT, ZERO), [self.box[key] for key in keys])

    def bounds(self, e: Expression) -> Side:
        """Bounds of e on the cell: by intervals, and by constraints g whose linear part is a multiple."""
        low, high = self.interval(e)
        linear = {key: value for key, value in e.items() if key != CONSTANT}
        if linear:
            s, k = direction(linear)
            for at, constant in self.sides.get(k, []):
                c = s / at  # e = c g + end, g >= 0
                end = e.get(CONSTANT, ZERO) - c * constant
                if not counts(c):
                    continue
                if c > 0:
                    low = end if low is None else max(low, end)
                else:
                    high = end if high is None else min(high, end)
        return low, high

    def known(self, e: Expression) -> Optional[Expression]:
        """relu(e) by rule 1 or 2."""
        low, high = self.bounds(e)
        if low is not None and low >= 0:
            return e
        if high is not None and high <= 0:
            return {}
        s, k = direction(e)
        if k in self.met:
            at, value = self.met[k]
            c = s / at
            if counts(c):
                return combine([(c, value)] if c > 0 else [(-c, value), (ONE, e)])
        return None

    def absorbed(self, e: Expression) -> Expression:
        """Rule 3: with r <= 0 and c > 0, relu(c relu(k) + r) = relu(c k + r). From the latest atom back."""
        for atom in range(len(self.box) - 1, self.inputs - 1, -1):
            c = e.get(atom, ZERO)
            if c > 0:
                rest = {key: value for key, value in e.items() if key != atom}
                high = self.interval(rest)[1]
                if high is not None and high <= 0:
                    e = combine([(c, self.atoms[atom - self.inputs]), (ONE, rest)])
        return e

    def relu(self, e: Expression) -> Expression:
        """The value of relu(e) on the cell, by the first rule that applies."""
        value = self.known(e)
        if value is not None:
            return value
        inner = self.absorbed(e)
        if inner != e:
            value = self.known(inner)
        if value is None:
            opposite = self.absorbed(combine([(-ONE, e)]))
            value = self.known(opposite)
            if value is not None:
                value = combine([(ONE, value), (ONE, e)])
        if value is None:
            high = self.interval(e)[1]
            value = {len(self.box): ONE}
            self.box.append((ZERO, None if high is None else round_up(max(high, ZERO), 64)))
            self.atoms.append(inner)
            self.note(inner, value)
        self.note(e, value)
        return value

    def note(self, e: Expression, value: Expression) -> None:
        s, k = direction(e)
        self.met.setdefault(k, (s, value))

    def outputs(self, side: Frontier) -> list[Expression]:
        """The outputs of a network as expressions, from its frontier on."""
        z = [{i if i < self.inputs else CONSTANT: Fraction(x, side.z.den) for i, x in enumerate(entries) if x}
             for entries in side.z.rows]
        decided, values = side.decided, z
        for place, layer in enumerate(side.layers[side.layer:]):
            if place > 0:
                z = [self.row(w, b, values) for w, b in zip(layer.weight, layer.bias)]
            values = z
            if layer.relu:
                states = [decided.get(j) for j in range(len(z))]
                values = [self.relu(e) if on is None else e if on else {} for e, on in zip(z, states)]
            decided = {}
        return values

    def row(self, weight: list[Fraction], bias: Fraction, values: list[Expression]) -> Expression:
        self.products += sum(len(values[j]) for j, w in enumerate(weight) if w)
        demand(self.products <= self.limit, f"the leaf takes at most {self.limit} products")
        return combine([(ONE, {CONSTANT: bias}), *((w, values[j]) for j, w in enumerate(weight) if w)])


def check_same(path: Path, box: Box) -> None:
    """Every rule is an equality of functions on the cell (page: Same leaf), so equal expressions are equal functions."""
    layers = [layer for side in path.sides for layer in side.layers]
    parameters = sum(len(layer.bias) * (len(layer.weight[0]) + 1) for layer in layers)
    variables = len(box) + sum(len(layer.bias) for side in path.sides for layer in side.layers[:-1])
    values = Values(box, path.constraints, min(1 << 24, (1 << 16) + 64 * parameters * variables))
    a, b = (values.outputs(side) for side in path.sides)
    demand(a == b, "the outputs are the same expressions")


# ---- Evidence: difference --------------------------------------------------------------------------------------------

STEPS = 4096  # slopes are multiples of 1 / STEPS
TIE = 1 << 20  # what is larger by less than 1 / TIE of it counts as equal
Bounds = tuple[int, int, int, int, int, int]  # zl, zu, dl, du, yl, yu over the scale of their layer


Multipliers = dict[tuple[int, int], list[Fraction]]  # by output (from 0) and sign


@dataclass(frozen=True)
class Sign:
    """The pre-activation of a hidden neuron (layer and unit from 0) has this sign on the part of a leaf."""

    name: str
    layer: int
    unit: int
    factor: int


def small(value: Any) -> int:
    if natural(value) >= 1 << 32:
        raise Unreadable("expected an integer below 2^32")
    return value


def multipliers(value: Any) -> tuple[int, int, list[Fraction]]:
    """A row of multipliers: an output and a sign, and m 2^e for every m."""
    if type(value) is not list or len(value) < 2 or any(type(x) is not int for x in value):
        raise Unreadable("a row of multipliers is [output, exponent, m, ..], integers")
    k, e, *parts = value
    if k == 0 or abs(k) > 1 << 32 or abs(e) > 900 or len(parts) > 1 << 20:
        raise Unreadable("a row of multipliers has an output from 1 on and an exponent of at most 900 in absolute value")
    unit = Fraction(1 << e) if e >= 0 else Fraction(1, 1 << -e)
    return abs(k) - 1, 1 if k > 0 else -1, [small(m) * unit for m in parts]


def box_node(value: Any) -> Any:
    """A leaf (0), an input to bisect (from 1), a split (name, layer, unit), or the rows of a leaf with multipliers."""
    if type(value) is not list:
        return small(value)
    if not value:
        raise Unreadable("expected a split or a list of rows, found an empty list")
    if type(value[0]) is str:
        return row(one_of("a", "b"), index, index)(value)
    if sum(len(each) for each in value if type(each) is list) > 1 << 20:
        raise Unreadable("a leaf has too many multipliers")
    return [multipliers(each) for each in value]


def stored(x: Fraction) -> bool:
    """Whether the nearest double differs from x by at most 2^-53 of itself."""
    try:
        near = Fraction(float(x))
    except OverflowError:
        return False
    return abs(x - near) * (1 << 53) <= abs(near)


def double_above(x: Fraction) -> float:
    """The least double that is not below x."""
    try:
        near = float(x)
    except OverflowError:
        near = inf
    if isfinite(near) and Fraction(near) < x:
        near = nextafter(near, inf)
    demand(isfinite(near), "the ends of the box lie within the doubles")
    return near


def slope(part: int, whole: int) -> int:
    """part / whole in steps, rounded to the nearest one; a slope is a proposal, any one between 0 and 1 is as true."""
    return max(0, min(STEPS, (TIE * STEPS * part + (TIE // 2 - 1) * whole) // (TIE * whole))) if whole else 0


def relu_band(s: int, low: int, high: int) -> int:
    """R4: 0 <= relu(t) - s t <= this, times STEPS."""
    return max(-s * low, (STEPS - s) * high)


def difference_band(s: int, low: int, high: int) -> tuple[int, int]:
    """R5: -Q <= e - s d <= H, times STEPS: (H, Q)."""
    return max((STEPS - s) * high, -s * low, 0), max(-(STEPS - s) * low, s * high, 0)


class PairLayer:
    """One layer of both networks: integers over one denominator."""

    def __init__(self, p: Layer, q: Layer) -> None:
        differences = [[y - x for x, y in zip(*rows)] for rows in zip(p.weight, q.weight)]
        biases = [y - x for x, y in zip(p.bias, q.bias)]
        parts = [p.weight, q.weight, differences, [p.bias], [biases]]
        demand(all(stored(x) for part in parts for row in part for x in row),
               "parameters and their differences are doubles, or close to normal ones")
        rows, self.den = over_one_denominator([row for part in parts for row in part])
        n = len(p.bias)
        self.a, self.b, self.d, (self.bias_a, self.bias_d) = rows[:n], rows[n:2 * n], rows[2 * n:3 * n], rows[3 * n:]
        self.relu = p.relu


def over(rows: Sequence[list[int]], columns: int) -> list[tuple[int, ...]]:
    """The columns of rows that may be short of zeros."""
    return list(zip(*(row + [0] * (columns - len(row)) for row in rows)))


class BoxBounds:
    """Bounds of all layers on a part of a box, in exact arithmetic (page: difference): forms are integers over one scale per layer."""

    def __init__(self, layers: list[PairLayer], lo: Sequence[float], hi: Sequence[float], signs: Sequence[Sign], look: str = "") -> None:
        self.layers, self.signs, self.empty, wider = layers, signs, False, look == "wider"
        centres = [low if low == high else 0.5 * (low + high) for low, high in zip(lo, hi)]
        (low, high, mid), scale = over_one_denominator([[Fraction(x) for x in part] for part in (lo, hi, centres)])
        self.ends, self.end_scale, self.columns = (low, high), scale, 1
        a: list[list[int]] = []
        for c, r in ((c, max(y - c, c - x)) for x, c, y in zip(low, mid, high)):
            a.append([c])
            if r:
                self.widen(a[-1], 0, r)
        e: list[list[int]] = [[] for _ in a]
        self.bounds: list[list[Bounds]] = []
        self.scales: list[int] = []
        for layer in layers:
            of_a, of_e = over(a, self.columns), over(e, self.columns)
            z = [[sum(map(mul, w, column)) for column in of_a] for w in layer.a]
            d = [[sum(map(mul, w, x)) + sum(map(mul, v, y)) for x, y in zip(of_a, of_e)]
                 for w, v in zip(layer.d, layer.b)]
            for forms, bias in ((z, layer.bias_a), (d, layer.bias_d)):
                for form, value in zip(forms, bias):
                    form[0] += value * scale
            scale *= layer.den
            self.scales.append(scale)
            self.bounds.append([self.around(*forms, wider) for forms in zip(z, d)])
            for sign in signs:
                if sign.layer + 1 == len(self.bounds):
                    clip(self.bounds[-1], sign)
            self.empty = self.empty or any(not meet(self.bounds[-1], sign.unit) for sign in signs if sign.layer + 1 == len(self.bounds))
            if look == "closer" and layer.relu and layer is not layers[0] and layer is not layers[-1] and not self.empty:
                self.empty = not all([self.look_closely(i) for i in range(len(z))])
            if self.empty or layer is layers[-1]:
                break
            scale *= 2 * STEPS
            activated = [self.activate(layer.relu, *forms) for forms in zip(z, d, self.bounds[-1])]
            a, e = [form for form, _ in activated], [form for _, form in activated]

    @staticmethod
    def around(z: list[int], d: list[int], wider: bool) -> Bounds:
        ends = []
        for form in (z, d, [p + q for p, q in zip(z, d)]):
            r = sum(map(abs, form[1:]))
            r += ((abs(form[0]) + r) >> 44) + 1 if wider else 0
            ends.append((form[0] - r, form[0] + r))
        return (*ends[0], *ends[1], *ends[2])

    def widen(self, form: list[int], offset: int, radius: int) -> None:
        """Adds an offset and a new symbol."""
        form.extend([0] * (self.columns - len(form)))
        form[0] += offset
        form.append(radius)
        self.columns += 1

    def activate(self, relu: bool, z: list[int], d: list[int], bounds: Bounds) -> tuple[list[int], list[int]]:
        """The forms of a and e behind a neuron, times 2 STEPS (R0, R4, R5)."""
        zl, zu, dl, du, yl, yu = bounds
        whole = 2 * STEPS
        if not relu or (zl >= 0 and yl >= 0 and zu > 0 and yu > 0):
            return [whole * x for x in z], [whole * x for x in d]
        a, radius_a = [], 0
        if zu > 0:
            s = STEPS if zl >= 0 else slope(zu, zu - zl)
            a = [2 * s * x for x in z]
            if zl < 0:
                radius_a = relu_band(s, zl, zu)
                self.widen(a, radius_a, radius_a)
        if zu <= 0 and yu <= 0:
            return a, []
        exact = (zu <= 0 or zl >= 0) and (yu <= 0 or yl >= 0)
        t = 0 if yu <= 0 else STEPS if yl >= 0 else slope(yu, yu - yl)
        radius_b = relu_band(t, yl, yu) if yl < 0 < yu else 0
        s = STEPS // 2
        above, below = difference_band(s, dl, du)
        if not exact and (above + below) * (TIE + 1) < (radius_a + radius_b) * TIE:
            e = [2 * s * x for x in d]
            self.widen(e, above - below, above + below)
            return a, e
        e = [2 * t * (p + q) for p, q in zip(z, d)]
        if radius_b:
            self.widen(e, radius_b, radius_b)
        e.extend([0] * (len(a) - len(e)))
        for i, x in enumerate(a):
            e[i] -= x
        return a, e

    def look_closely(self, i: int) -> bool:
        """E6: rows that start at an open neuron of the last layer bound it; False if nothing is left."""
        l, ends = len(self.bounds) - 1, list(self.bounds[-1][i])
        open_a, open_b = ends[0] < 0 < ends[1], ends[4] < 0 < ends[5]
        if not open_a and not open_b:
            return True
        zeros, unit = [0] * len(self.bounds[-1]), [int(j == i) for j in range(len(self.bounds[-1]))]
        for first, rows in (((0, (unit, zeros)),) if open_a else ()) + ((2, (zeros, unit)),):
            above, below = (self.descend(*([s * c for c in row] for row in rows), 1, ZERO, top=l) for s in (1, -1))
            ends[first] = max(ends[first], floor(-below * self.scales[-1]))
            ends[first + 1] = min(ends[first + 1], ceil(above * self.scales[-1]))
        self.bounds[-1][i] = (ends[0], ends[1], ends[2], ends[3], ends[4], ends[5])
        return meet(self.bounds[-1], i)

    def output(self, k: int, sign: int) -> Fraction:
        """An upper bound of sign (f_B - f_A) of an output."""
        _, _, dl, du, _, _ = self.bounds[-1][k]
        return Fraction(du if sign > 0 else -dl, self.scales[-1])

    def row(self, k: int, sign: int, weights: Sequence[Fraction]) -> Fraction:
        """The same by going backwards."""
        outputs = len(self.bounds[-1])
        return self.descend([0] * outputs, [sign * (i == k) for i in range(outputs)], 1, ZERO, weights)

    def is_held(self, k: int, sign: int, bound: Fraction, weights: Sequence[Fraction]) -> bool:
        """Whether one of both is at most a bound."""
        return self.empty or self.output(k, sign) <= bound or self.row(k, sign, weights) <= bound

    def descend(
        self, c_z: list[int], c_d: list[int], scale: int, constant: Fraction, weights: Sequence[Fraction] = (), top: int = -1
    ) -> Fraction:
        """An upper bound of (c_z . z + c_d . d) / scale + constant at layer top (page: rows; E4 without its errors)."""
        for l in range(top % len(self.layers), -1, -1):
            layer = self.layers[l]
            here = [(each, beta * each.factor * scale) for each, beta in zip(self.signs, weights) if each.layer == l and beta]
            finer = lcm(*(beta.denominator for _, beta in here))
            if finer > 1:
                scale, c_z, c_d = scale * finer, [c * finer for c in c_z], [c * finer for c in c_d]
            for each, beta in here:  # not negative on the part
                c_z[each.unit] += int(beta * finer)
                if each.name == "b":
                    c_d[each.unit] += int(beta * finer)
            scale *= layer.den
            constant += Fraction(sum(map(mul, c_z, layer.bias_a)) + sum(map(mul, c_d, layer.bias_d)), scale)
            c_a = [sum(map(mul, c_z, p)) + sum(map(mul, c_d, q)) for p, q in zip(zip(*layer.a), zip(*layer.d))]
            c_e = [sum(map(mul, c_d, p)) for p in zip(*layer.b)]
            if l == 0:
                best = sum(max(c * x, c * y) for c, x, y in zip(c_a, *self.ends))
                return constant + Fraction(best, scale * self.end_scale)
            relu, offset = self.layers[l - 1].relu, 0
            c_z, c_d = [], []
            for x, y, bounds in zip(c_a, c_e, self.bounds[l - 1]):
                (a_z, a_t), (e_z, e_d, e_t) = lines(relu, bounds, x > 0, y > 0)
                c_z.append(x * a_z + y * e_z)
                c_d.append(y * e_d)
                offset += x * a_t + y * e_t
            scale *= STEPS
            constant += Fraction(offset, scale * self.scales[l - 1])
        raise AssertionError("a network has a first layer")


def clip(bounds: list[Bounds], sign: Sign) -> None:
    """Ends the bounds of a pre-activation at 0."""
    ends = list(bounds[sign.unit])
    low, high = (0, 1) if sign.name == "a" else (4, 5)
    if sign.factor > 0:
        ends[low] = max(ends[low], 0)
    else:
        ends[high] = min(ends[high], 0)
    bounds[sign.unit] = (ends[0], ends[1], ends[2], ends[3], ends[4], ends[5])


def meet(bounds: list[Bounds], unit: int) -> bool:
    """Tightens the bounds of a neuron by z + d = y; False if nothing is left."""
    zl, zu, dl, du, yl, yu = bounds[unit]
    dl, du = max(dl, yl - zu), min(du, yu - zl)
    zl, zu = max(zl, yl - du), min(zu, yu - dl)
    yl, yu = max(yl, zl + dl), min(yu, zu + du)
    bounds[unit] = (zl, zu, dl, du, yl, yu)
    return zl <= zu and dl <= du and yl <= yu


def lines(relu: bool, bounds: Bounds, upper_a: bool, upper_e: bool) -> tuple[tuple[int, int], tuple[int, int, int]]:
    """R7, times STEPS: a line (slope of z, offset) that bounds a, and one (slopes of z and d, offset) that bounds e."""
    if not relu:
        return (STEPS, 0), (0, STEPS, 0)
    zl, zu, dl, du, yl, yu = bounds

    def triangle(low: int, high: int) -> tuple[int, int, int]:
        if high <= 0 or low >= 0:
            s = 0 if high <= 0 else STEPS
            return s, 0, s
        s = slope(high, high - low)
        return s, relu_band(s, low, high), STEPS if high * TIE > -low * (TIE + 1) else 0

    (chord_a, height_a, flat_a), (chord_b, height_b, flat_b) = triangle(zl, zu), triangle(yl, yu)
    rising, falling = (STEPS, 0) if dl >= 0 else (0, STEPS) if du <= 0 else (slope(du, du - dl), slope(-dl, du - dl))
    middle_z, middle_d = max(zl, yl - du) + min(zu, yu - dl), dl + du  # twice the middle

    def at(line: tuple[int, int, int]) -> int:
        return line[0] * middle_z + line[1] * middle_d + 2 * line[2]

    tie = 2 * STEPS * (zu - zl + du - dl)
    if upper_e:
        e, band = (chord_b - flat_a, chord_b, height_b), (0, rising, difference_band(rising, dl, du)[0])
        better = at(e) - at(band)
    else:
        e, band = (flat_b - chord_a, flat_b, -height_a), (0, falling, -difference_band(falling, dl, du)[1])
        better = at(band) - at(e)
    if better * TIE > tie:
        e = band
    return ((chord_a, height_a) if upper_a else (flat_a, 0)), e


def check_difference(a: Layers, b: Layers, box: Box, evidence: dict[str, Any], nodes: Iterable[Any]) -> Claim:
    """The leaves cover the box, and on each of them the outputs differ by at most the bounds (page: difference)."""
    demand(bounded(box), "the domain is a box that is bounded on all sides")
    first, second = both(a, b, box, evidence)
    demand_same_shape(first.layers, second.layers)
    inputs, *hidden, outputs = widths(first.layers)
    entries = max([*hidden, outputs]) * (2 * sum(hidden) + inputs + 1), (sum(hidden) + outputs) * inputs
    demand(max(entries) <= 1 << 25, "the forms of all neurons fit into the limits")
    bounds = evidence["bounds"]
    demand(len(bounds) == outputs, f"there are {outputs} bounds, one per output")
    demand(all(bound >= 0 for bound in bounds), "no bound is negative")
    layers = [PairLayer(p, q) for p, q in zip(first.layers, second.layers)]
    lo, hi = [-double_above(-(low or ZERO)) for low, _ in box], [double_above(high or ZERO) for _, high in box]
    signs: tuple[Sign, ...] = ()
    waiting, place = [(lo, hi, signs, 0)], 0
    for value in nodes:
        place += 1
        content = box_node(value)
        demand(len(waiting) > 0, f"nothing follows a complete tree, not even node {place}")
        lo, hi, signs, depth = waiting.pop()
        weights: Multipliers = {}
        if type(content) is int and content:
            demand(content <= inputs, f"node {place}: there is an input {content}")
            demand(depth < 4096, f"node {place}: a path has at most 4096 bisections and splits")
            j = content - 1
            middle = 0.5 * (lo[j] + hi[j])
            demand(lo[j] < middle < hi[j], f"node {place}: a double lies strictly between the ends of input {content}")
            waiting.append(([*lo[:j], middle, *lo[j + 1:]], hi, signs, depth + 1))
            waiting.append((lo, [*hi[:j], middle, *hi[j + 1:]], signs, depth + 1))
            continue
        if type(content) is tuple:
            name, layer, unit = content
            title = f"neuron {unit} of layer {layer} of {name.upper()}"
            exists = layer < len(layers) and unit <= len(layers[layer - 1].bias_a) and layers[layer - 1].relu
            demand(exists, f"node {place}: {title} is a hidden ReLU neuron")
            again = any((sign.name, sign.layer, sign.unit) == (name, layer - 1, unit - 1) for sign in signs)
            demand(not again, f"node {place}: {title} is split once on a path")
            demand(depth < 4096, f"node {place}: a path has at most 4096 bisections and splits")
            for factor in (-1, 1):  # the part where it is on is read first
                waiting.append((lo, hi, (*signs, Sign(name, layer - 1, unit - 1, factor)), depth + 1))
            continue
        if type(content) is list:
            order = [2 * k + (sign < 0) for k, sign, _ in content]
            demand(order == sorted(set(order)), f"node {place}: rows of multipliers stand in their order, each once")
            demand(order[-1] < 2 * outputs, f"node {place}: multipliers are those of outputs")
            demand(all(len(parts) == len(signs) for _, _, parts in content), f"node {place}: a row has a multiplier per split above")
            weights = {(k, sign): parts for k, sign, parts in content}
        demand(all(isfinite(x + y) for x, y in zip(lo, hi)), f"node {place}: the sums of the ends are doubles")
        # Where signs leave a neuron nothing but 0 it is on or off by a hair, and its forms know nothing of the signs:
        # which of the two gives the better bound is chance. Bounds that are a little wider hold as well.
        looks = ["", "wider", "closer"] if signs else ["", "closer"]
        found = [BoxBounds(layers, lo, hi, signs)]
        if found[0].empty:
            continue
        for k, bound in enumerate(bounds):
            for side in (1, -1):
                row_weights = weights.get((k, side), ())
                held = any(here.is_held(k, side, bound, row_weights) for here in found)
                while not held and len(found) < len(looks):
                    found.append(BoxBounds(layers, lo, hi, signs, looks[len(found)]))
                    held = found[-1].is_held(k, side, bound, row_weights)
                demand(held, f"node {place}: output {k + 1} differs by at most the stated bound on the box")
    demand(not waiting, f"the tree is complete (after node {place}, {len(waiting)} subtrees are missing)")
    return "within", max(bounds)


# ---- Evidence: decision ----------------------------------------------------------------------------------------------

MAX_WEIGHT = 1 << 42  # what the weights of a rival may add up to, in units of 1 / STEPS
Weights = list[tuple[int, int]]


def class_number(value: Any) -> int:
    if index(value) >= 1 << 32:
        raise Unreadable("expected an integer below 2^32")
    return value


RIVALS = listing(row(class_number, listing(row(class_number, natural))))


def decision_node(value: Any) -> Any:
    if type(value) is int and -(1 << 32) < value < 1 << 32:
        return value
    if type(value) is list and value:
        return RIVALS(value)
    raise Unreadable(f"expected a node of a tree of boxes, found {short(value)}")


def lead_is_small(found: BoxBounds, i: int, other: int, margin: Fraction) -> bool:
    """Whether A_i - A_other < margin on the box."""
    last = found.bounds[-1]
    if Fraction(last[i][1] - last[other][0], found.scales[-1]) < margin:
        return True
    outputs = len(last)
    c_z = [(k == i) - (k == other) for k in range(outputs)]
    return found.descend(c_z, [0] * outputs, 1, -margin) < 0


def rival_is_held(found: BoxBounds, i: int, j: int, weights: Weights, margin: Fraction) -> bool:
    """Whether B_j - B_i + sum of w_l (A_i - A_l - margin) < 0 on the box."""
    last = found.bounds[-1]
    if weights == [(j, STEPS)] and Fraction(last[j][3] - last[i][2], found.scales[-1]) < margin:
        return True
    total = sum(weight for _, weight in weights)
    c_d = [STEPS * ((k == j) - (k == i)) for k in range(len(last))]
    c_z = list(c_d)
    c_z[i] += total
    for other, weight in weights:
        c_z[other] -= weight
    return found.descend(c_z, c_d, STEPS, -margin * total / STEPS) < 0


def read_weights(listed: Any, i: int, outputs: int, at: str) -> dict[int, Weights]:
    """The weights of a leaf by rival; numbers count from 0."""
    found: dict[int, Weights] = {}
    for rival, pairs in listed:
        weights = [(other - 1, weight) for other, weight in pairs]
        for numbers in [[*found, rival - 1], [other for other, _ in weights]]:
            demand(all(0 <= k < outputs and k != i for k in numbers), f"{at}: these are other classes")
            demand(numbers == sorted(set(numbers)), f"{at}: classes increase")
        demand(all(weight > 0 for _, weight in weights), f"{at}: weights are positive")
        demand(sum(weight for _, weight in weights) <= MAX_WEIGHT, f"{at}: weights add up to at most 2^42 units")
        found[rival - 1] = weights
    return found


def check_decision(a: Layers, b: Layers, box: Box, evidence: dict[str, Any], nodes: Iterable[Any]) -> Claim:
    """For every class the leaves of its tree cover the box, and each of them settles the class (page: decision)."""
    demand(bounded(box), "the domain is a box that is bounded on all sides")
    first, second = both(a, b, box, evidence)
    demand_same_shape(first.layers, second.layers)
    inputs, *hidden, outputs = widths(first.layers)
    entries = max([*hidden, outputs]) * (2 * sum(hidden) + inputs + 1), (sum(hidden) + outputs) * inputs
    demand(max(entries) <= 1 << 25, "the forms of all neurons fit into the limits")
    margin = evidence["margin"]
    demand(outputs >= 2, "there are two outputs or more")
    demand(margin >= 0, "the margin is not negative")
    layers = [PairLayer(p, q) for p, q in zip(first.layers, second.layers)]
    lo, hi = [-double_above(-(low or ZERO)) for low, _ in box], [double_above(high or ZERO) for _, high in box]
    # The root of every class, the first class last; then what is left of the trees that were begun.
    waiting, place = [(i, lo, hi, 0) for i in range(outputs - 1, -1, -1)], 0
    bounds_of: Optional[tuple[list[float], list[float], BoxBounds]] = None
    for value in nodes:
        place += 1
        settled = decision_node(value)
        demand(len(waiting) > 0, f"nothing follows the trees of all classes, not even node {place}")
        i, lo, hi, depth = waiting.pop()
        at = f"node {place}, of class {i + 1}"
        if type(settled) is int and settled > 0:
            demand(settled <= inputs, f"{at}: there is an input {settled}")
            demand(depth < 4096, f"{at}: a path has at most 4096 bisections")
            j = settled - 1
            middle = 0.5 * (lo[j] + hi[j])
            demand(lo[j] < middle < hi[j], f"{at}: a double lies strictly between the ends of input {settled}")
            waiting.append((i, [*lo[:j], middle, *lo[j + 1:]], hi, depth + 1))
            waiting.append((i, lo, [*hi[:j], middle, *hi[j + 1:]], depth + 1))
            continue
        given = {} if type(settled) is int else read_weights(settled, i, outputs, at)
        if type(settled) is int and settled < 0:
            demand(-settled <= outputs and -settled - 1 != i, f"{at}: {-settled} is another class")
        demand(all(isfinite(x + y) for x, y in zip(lo, hi)), f"{at}: the sums of the ends are doubles")
        if bounds_of is None or bounds_of[:2] != (lo, hi):
            bounds_of = lo, hi, BoxBounds(layers, lo, hi, ())
        found = bounds_of[2]
        if type(settled) is int and settled < 0:
            demand(lead_is_small(found, i, -settled - 1, margin), f"{at}: A leads class {-settled} by less than the margin")
            continue
        for j in range(outputs):
            if j != i:
                weights = given.get(j, [(j, STEPS)])
                demand(rival_is_held(found, i, j, weights, margin), f"{at}: class {j + 1} is held down by its weights")
    demand(not waiting, f"the trees are complete (after node {place}, {len(waiting)} subtrees are missing)")
    return "same_class", None


def leads(values: list[Fraction], i: int, margin: Fraction) -> bool:
    """Whether output i is larger than all others, by the margin at least."""
    others = [values[i] - value for k, value in enumerate(values) if k != i]
    return all(lead > 0 and lead >= margin for lead in others)


# ---- The file and the question ---------------------------------------------------------------------------------------

CHAINS = {"a": CHAIN, "b": CHAIN}
# Keys of each kind in their order, without those that are read as a stream.
EVIDENCE: dict[str, dict[str, Form]] = {
    "moves": CHAINS,
    "rounding": {**CHAINS, "bound": number},
    "nudged": {"a": listing(step), "b": listing(step), "bound": number},
    "close": {**CHAINS, "relative": number},
    "hyperplanes": {**CHAINS, "prefix": natural},
    "regions": CHAINS,
    "tails": {**CHAINS, "prefix": index},
    "line": CHAINS,
    "difference": {**CHAINS, "bounds": NUMBERS},
    "decision": {**CHAINS, "margin": number},
    "witness": {"x": NUMBERS, "a": NUMBERS, "b": NUMBERS},
    "rank": {"points": listing(NUMBERS), "folds": listing(row(index, index, index, index)), "outputs": listing(index),
             "extra": listing(index), "rank": natural},
}
STREAMED: dict[str, tuple[str, Form]] = {"regions": ("tree", node), "tails": ("tree", node), "line": ("breakpoints", number),
                                         "difference": ("tree", box_node), "decision": ("tree", decision_node)}
CHECKS = {"moves": check_moves, "rounding": check_rounding, "nudged": check_nudged, "close": check_close,
          "hyperplanes": check_hyperplanes, "witness": check_witness, "rank": check_rank}


@dataclass
class Question:
    """What is asked: a box ("space": all of R^n; None: that of the certificate) and a claim (None: the certificate's)."""

    box: Any = None
    claim: Optional[str] = None
    within: Optional[Fraction] = None
    margin: Optional[Fraction] = None


def check(certificate: str, a: Network, b: Network, question: Optional[Question] = None) -> Result:
    """Does the certificate prove its claim about the networks, and does that answer the question?"""
    result = Result("refused")
    try:
        check_file(Reader(certificate), a, b, question or Question(), result)
        result.answer = "proved"
    except Refused as error:
        result.answer, result.reason = "refused", str(error)
    except Unreadable as error:
        result.answer, result.reason = "unreadable", str(error)
    except (Stopped, MemoryError) as error:
        result.answer, result.reason = "stopped", str(error) or "out of memory"
    except Exception as error:  # no accident is ever a proof
        result.answer, result.reason = "refused", f"internal error of this checker: {error!r}"
    if result.answer != "proved":
        result.claim = result.bound = result.relative = result.margin = result.fiber = None
    return result


def check_file(reader: Reader, a: Network, b: Network, question: Question, result: Result) -> None:
    reader.key("format", first=True)
    one_of("fiberscope-certificate")(reader.value())
    reader.key("version")
    if index(reader.value()) != 1:
        raise Unreadable("expected version 1")
    names = {}
    for name in ("a", "b"):
        reader.key(name)
        names[name] = NAME(reader.value())
    reader.key("domain")
    domain = reader.value()
    result.domain = domain
    domain = "space" if domain == "space" else BOX(domain)
    reader.key("evidence")
    reader.key("kind", first=True)
    kind = one_of(*EVIDENCE)(reader.value())
    result.kind = kind
    evidence = {}
    for key, form in EVIDENCE[kind].items():
        reader.key(key)
        evidence[key] = form(reader.value())

    stream: Iterator[Any] = iter(())
    if kind in STREAMED:
        reader.key(STREAMED[kind][0])
        stream = reader.items()
    for name, network in (("a", a), ("b", b)):
        demand(names[name]["sha256"] == network.sha256, f"network {name.upper()} has the digest that the certificate names")
        demand(names[name]["widths"] == network.widths, f"network {name.upper()} has the widths that the certificate names")
    same = (a.widths[0], a.widths[-1]) == (b.widths[0], b.widths[-1])
    demand(same, "A and B have the same numbers of inputs and outputs")
    box = read_domain(domain, a.widths[0])
    demand(kind != "rank" or names["a"] == names["b"], "evidence of kind `rank` is about one network: A and B are the same")
    if kind in ("regions", "tails"):
        claim = check_regions(a.layers, b.layers, box, evidence, stream)
    elif kind == "difference":
        claim = check_difference(a.layers, b.layers, box, evidence, stream)
    elif kind == "decision":
        claim = check_decision(a.layers, b.layers, box, evidence, stream)
    elif kind == "line":
        claim = check_line(a.layers, b.layers, box, evidence, domain == "space", stream)
    else:
        claim = CHECKS[kind](a.layers, b.layers, box, evidence)
    # Before anything is proved, the rest must be of the form too.
    for value in stream:
        STREAMED[kind][1](value)
    reader.expect("}")
    reader.expect("}")
    reader.end()
    result.claim, result.bound = claim
    result.relative, result.margin, result.fiber = (evidence.get(key) for key in ("relative", "margin", "fiber"))
    answer_question(claim, box, evidence, question, a.widths[-1])


def keeps_class(claim: Claim, evidence: dict[str, Any], margin: Fraction, outputs: int) -> bool:
    """Whether the claim says that B decides for A's class wherever A leads by the margin (page: the question)."""
    name, bound = claim
    if name == "same_class":
        return bool(evidence["margin"] <= margin)
    if name == "equivalent":
        return True
    bounds = sorted(evidence.get("bounds") or ([] if bound is None else [bound] * outputs))
    return len(bounds) > 1 and bounds[-1] + bounds[-2] < margin


def answer_question(claim: Claim, box: Box, evidence: dict[str, Any], question: Question, outputs: int) -> None:
    """`equivalent`, `within`, `same_class`: the question's domain lies in the certificate's; `different`, `other_class`: the
    witness lies in it; claims about the fiber: it contains the certificate's."""
    name, bound = claim
    asked = box
    if question.box == "space":
        asked = [(None, None)] * len(box)
    elif question.box is not None:
        asked = question.box
        demand(len(asked) == len(box), f"the box of the question has an interval for each of the {len(box)} inputs")
    wanted = question.claim or name
    if wanted == "within" and question.claim:
        enough = name == "equivalent" or (bound is not None and question.within is not None and bound <= question.within)
        demand(enough, f"what is proved ({name}) says that the outputs differ by at most the EPS of the question")
    elif wanted == "same_class" and question.margin is not None:
        demand(keeps_class(claim, evidence, question.margin, outputs),
               f"what is proved ({name}) says that B decides for A's class at the lead of the question")
    elif wanted == "other_class" and question.margin is not None:
        demand(name == "different", f"what is proved ({name}) is that the networks differ at a point")
        values = evidence["a"], evidence["b"]
        changed = any(leads(values[0], i, question.margin) and not leads(values[1], i, ZERO) for i in range(len(values[0])))
        demand(changed, "at the witness A leads by the margin of the question, and B does not decide for that class")
    else:
        demand(wanted == name, f"what is proved ({name}) is the claim of the question ({wanted})")
    if name == "different":
        demand(contains(asked, evidence["x"]), "the witness lies in the domain of the question")
    elif "fiber" in evidence:
        demand(inside(box, asked), "the domain of the question contains that of the certificate")
    else:
        demand(inside(asked, box), "the domain of the question lies in that of the certificate")


# ---- The command -----------------------------------------------------------------------------------------------------


def parse_double(text: str) -> Fraction:
    """A number as the user types it: the nearest double, as in the networks."""
    if not re.match(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,4})?\Z", text):
        raise Unreadable(f"{text[:40]!r} is not a decimal number")
    value = float(text)
    if not isfinite(value):
        raise Unreadable(f"{text!r} is not finite")
    return Fraction(value)


def parse_question(box: Any, space: bool, claim: Optional[str], inputs: int) -> Question:
    """The question of the flags; `box` is LO,HI or the name of a JSON file of pairs."""
    question = Question()
    if claim is not None:
        word, _, eps = claim.partition("=")
        classes = word in ("same_class", "other_class")
        if claim not in ("equivalent", "different", "locally_identifiable") and word != "within" and not classes:
            raise Unreadable("expected --claim equivalent, different, within=EPS, same_class[=M], other_class[=M] or locally_identifiable")
        question.claim = word
        if classes and claim == word:
            question.margin = ZERO
        elif word == "within" or classes:
            if not re.match(r"[+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,4})?\Z", eps):
                raise Unreadable(f"{eps!r} is not a decimal number")
            size = Fraction(eps)  # exactly as it is written
            question.within, question.margin = (None, size) if classes else (size, None)
    if space:
        question.box = "space"
    elif box is not None:
        pairs: Any = [box.split(",")] * inputs
        if box.endswith(".json"):
            try:
                with open(box, encoding="utf-8") as file:
                    pairs = json.load(file, parse_int=str, parse_float=str)
            except (OSError, ValueError) as error:
                raise Unreadable(f"{box}: {error}") from None
        if type(pairs) is not list or not all(type(pair) is list and len(pair) == 2 for pair in pairs):
            raise Unreadable("expected --box LO,HI or a JSON file with a list of pairs")
        question.box = [tuple(None if end is None else parse_double(str(end)) for end in pair) for pair in pairs]
        for low, high in question.box:
            if low is not None and high is not None and low > high:
                raise Unreadable("the box of the question is empty")
    return question


def load(source: Any) -> bytes:
    """The bytes of a file; in batch mode also {"text": ...} or {"hex": ...}."""
    if type(source) is dict:
        return source["text"].encode() if "text" in source else bytes.fromhex(source["hex"])
    try:
        with open(source, "rb") as file:
            return file.read()
    except OSError as error:
        raise Unreadable(str(error)) from None


def run(certificate: Any, a: Any, b: Any, box: Optional[str], space: bool, claim: Optional[str]) -> Result:
    try:
        networks = [read_network(load(source)) for source in (a, b)]
        question = parse_question(box, space, claim, networks[0].widths[0])
        try:
            text = load(certificate).decode()
        except UnicodeDecodeError as error:
            raise Unreadable(f"the certificate is not UTF-8: {error}") from None
        return check(text, networks[0], networks[1], question)
    except Unreadable as error:
        return Result("unreadable", str(error))
    except (Stopped, MemoryError) as error:
        return Result("stopped", str(error) or "out of memory")
    except Exception as error:
        return Result("unreadable", f"internal error of this checker: {error!r}")


def batch() -> int:
    """A job {"certificate", "a", "b", "box", "space", "claim"} per line of standard input, an answer per line."""
    for line in sys.stdin:
        job = json.loads(line)
        result = run(job["certificate"], job["a"], job["b"], job.get("box"), job.get("space", False), job.get("claim"))
        print(json.dumps(result.to_json()), flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks a Fiberscope certificate, independently of Fiberscope.")
    parser.add_argument("files", nargs="*", metavar="CERT A B")
    parser.add_argument("--box", help="LO,HI for every input, or a JSON file with a list of pairs")
    parser.add_argument("--space", action="store_true", help="the question is about all of R^n")
    parser.add_argument("--claim", help="equivalent, different, within=EPS, same_class[=M], other_class[=M] or locally_identifiable")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="stop then, with exit code 3")
    parser.add_argument("--json", action="store_true", help="answer as a JSON object")
    parser.add_argument("--batch", action="store_true", help="read jobs from standard input, one JSON object per line")
    # `--box -1,1`: argparse would take -1,1 for a flag.
    words = sys.argv[1:]
    while "--box" in words[:-1]:
        place = words.index("--box")
        words[place:place + 2] = [f"--box={words[place + 1]}"]
    flags = parser.parse_args(words)
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    if flags.batch:
        return batch()
    if len(flags.files) != 3 or (flags.space and flags.box):
        parser.error("expected CERT A B and at most one of --box and --space")
    if flags.time_limit is not None:
        if not hasattr(signal, "setitimer") or not 0 <= flags.time_limit < 1e9:
            parser.error("--time-limit needs a number of seconds, and a system with interval timers")

        def stop(*_: Any) -> NoReturn:
            raise Stopped("the time limit was reached")
        signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, max(flags.time_limit, 1e-3))
    try:
        result = run(*flags.files, flags.box, flags.space, flags.claim)
        if flags.time_limit is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Stopped as error:
        result = Result("stopped", str(error))
    if flags.json:
        print(json.dumps(result.to_json()))
    elif result.answer == "proved":
        size = result.bound if result.relative is None else result.relative
        size_text = "" if size is None else f" to {about(size, up=True)}"
        if result.margin is not None:
            size_text = f" wherever A leads by {about(result.margin, up=True)}"
        print(f"proved: {result.claim}{size_text} (evidence: {result.kind}; domain: {short(json.dumps(result.domain))})")
    else:
        print(f"{result.answer}: {result.reason[:400]}")
    return Result.EXIT[result.answer]


if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)  # multipliers may have 20,000 digits; conversions of longer ones are done in halves

if __name__ == "__main__":
    sys.exit(main())
