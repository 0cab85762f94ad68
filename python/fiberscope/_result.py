"""What results have in common: attributes, a short text, words and pictures in notebooks, the JSON object of the command."""

from __future__ import annotations

import base64
import copy
import html
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from . import _native

R = TypeVar("R", bound="Result")
ASIDE = {"hide": True}
"""The metadata of a field that the short text leaves out."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Result:
    """A result. `data` is the JSON object that the command prints with `--json`."""

    data: dict[str, Any] = field(metadata=ASIDE)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object, as plain dictionaries and lists."""
        return copy.deepcopy(self.data)

    def _shown(self) -> list[tuple[str, str]]:
        shown = []
        for each in fields(self):
            value = getattr(self, each.name)
            if not each.metadata.get("hide") and value is not None:
                shown.append((each.name, short(value)))
        return shown

    def _reading(self) -> list[tuple[str, str]]:
        """What an answer owes to the reading of its networks, for results without words of their own."""
        assumed, aside = self.data.get("assumed_activation"), self.data.get("set_aside", {})
        found = [] if assumed is None else [("activations", f"{short(assumed)}, which no file says")]
        return found + [("left out", f"{', '.join(nodes)} of {name}") for name, nodes in aside.items()]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self._shown())})"

    def __str__(self) -> str:
        words = getattr(self, "text", None)
        if words:
            return str(words).rstrip("\n")
        lines = [f"  {name:<22}{value}" for name, value in [*self._shown(), *self._reading()]]
        return "\n".join([type(self).__name__, *lines])

    def _repr_html_(self) -> str:
        shown = [each for each in fields(self) if not each.metadata.get("hide")]
        values = [(each.name, getattr(self, each.name)) for each in shown]
        facts = _table([(name, value) for name, value in values if value is not None], type(self).__name__)
        words = getattr(self, "text", None)
        if not words:
            return facts
        return f"{facts}<details><summary>in words</summary><pre>{html.escape(words)}</pre></details>"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Drawable(Result):
    """A result with a picture, which is drawn when somebody wants to see it."""

    _picture: _native.Picture | None = field(metadata=ASIDE)

    @property
    def svg(self) -> str | None:
        """The picture as SVG, if there is something to be seen."""
        document = None if self._picture is None else self._picture.svg()
        return None if document is None else document[document.index("<svg") :]

    def _repr_svg_(self) -> str | None:
        return self.svg

    def _repr_html_(self) -> str:
        facts, picture = Result._repr_html_(self), self.svg
        if picture is None:
            return facts
        code = base64.b64encode(picture.encode()).decode()
        return (
            f"{facts}<img style='max-width:40em' alt='the picture of the result' "
            f"src='data:image/svg+xml;base64,{code}'>"
        )


def make(cls: type[R], data: str | dict[str, Any], of: Sequence[_native.Net | None] = (), **extra: Any) -> R:
    """The result of a JSON object; what the object does not have is `None`. It says how the networks were read that it is `of`."""
    found: dict[str, Any] = json.loads(data) if isinstance(data, str) else data
    reading = _native.how_read([net for net in of if net is not None])
    if reading is not None:
        found |= json.loads(reading[1])
        if isinstance(extra.get("text"), str):
            extra["text"] += reading[0]
    given = {each.name: found.get(each.name) for each in fields(cls) if each.name != "data"}
    return cls(data=found, **(given | extra))


def _table(rows: Sequence[tuple[str, Any]], caption: str | None = None) -> str:
    """A table of names and values."""
    left = "style='text-align:left;vertical-align:top'"
    head = "" if caption is None else f"<caption style='text-align:left'><b>{html.escape(caption)}</b></caption>"
    cells = (f"<tr><th {left}>{html.escape(name)}</th><td {left}>{_cell(value)}</td></tr>" for name, value in rows)
    return f"<table>{head}{''.join(cells)}</table>"


def _cell(value: Any) -> str:
    """A value as a cell: records become tables, everything else a few words."""
    if isinstance(value, dict) and 0 < len(value) <= 12:
        return _table([(str(key), each) for key, each in value.items()])
    if (
        isinstance(value, list)
        and value
        and all(isinstance(each, dict) and each.keys() == value[0].keys() for each in value)
    ):
        shown = value[:12]
        names = "".join(f"<th>{html.escape(str(name))}</th>" for name in shown[0])
        lines = "".join(
            f"<tr>{''.join(f'<td>{html.escape(short(x))}</td>' for x in row.values())}</tr>" for row in shown
        )
        more = "" if len(value) <= 12 else f"<tr><td colspan='{len(shown[0])}'>... {len(value)} in all</td></tr>"
        return f"<table><tr>{names}</tr>{lines}{more}</table>"
    return html.escape(short(value))


def short(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, (list, tuple)) and len(value) > 8:
        return f"[{', '.join(map(short, value[:4]))}, ... {len(value)} in all]"
    if isinstance(value, dict) and len(json.dumps(value, default=str)) > 120:
        return f"{{{', '.join(value)}}}"
    text = " ".join(repr(value).split())
    return text if len(text) <= 200 else text[:160] + " ..."
