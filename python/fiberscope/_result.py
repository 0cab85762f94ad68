"""What results have in common: attributes, a short text, words and pictures in notebooks, the JSON object of the command."""

from __future__ import annotations

import base64
import copy
import html
import json
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

R = TypeVar("R", bound="Result")


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """A result. `data` is the JSON object that the command prints with `--json`."""

    data: dict[str, Any] = field(metadata={"hide": True})

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

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self._shown())})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for name, value in self._shown()
        )
        picture = getattr(self, "svg", None)
        drawn = ""
        if isinstance(picture, str):
            code = base64.b64encode(picture.encode()).decode()
            drawn = (
                f"<img style='max-width:40em' alt='the picture of the result' src='data:image/svg+xml;base64,{code}'>"
            )
        words = getattr(self, "text", None)
        facts = (
            f"<pre>{html.escape(words)}</pre>"
            if words
            else f"<table><caption>{type(self).__name__}</caption>{rows}</table>"
        )
        return facts + drawn


def make(cls: type[R], data: str | dict[str, Any], **extra: Any) -> R:
    """The result of a JSON object; what the object does not have is `None`."""
    found = json.loads(data) if isinstance(data, str) else data
    if isinstance(extra.get("svg"), str):
        extra["svg"] = extra["svg"][extra["svg"].index("<svg") :]
    given = {each.name: found.get(each.name) for each in fields(cls) if each.name != "data"}
    return cls(data=found, **(given | extra))


def aside() -> Any:
    """A field that the short text leaves out."""
    return field(metadata={"hide": True})


def short(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, (list, tuple)) and len(value) > 8:
        return f"[{', '.join(map(short, value[:4]))}, ... {len(value)} in all]"
    if isinstance(value, dict) and len(json.dumps(value, default=str)) > 120:
        return f"{{{', '.join(value)}}}"
    text = repr(value)
    return text if len(text) <= 200 else text[:160] + " ..."
