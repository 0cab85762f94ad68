"""The notebooks of the guide run from the first cell to the last."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "docs/notebooks").glob("*.ipynb"))


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["functional-dimension", "regions-and-fibers", "same-function"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs(path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    names: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(notebook["cells"], 1):
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]), f"{path.name}, cell {number}")
        # The value of a last expression is what a notebook shows.
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{path.name}, cell {number}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"{path.name}, cell {number}", "eval"), names)
            shown = getattr(value, "_repr_html_", None)
            assert (shown() if shown else repr(value)) is not None
