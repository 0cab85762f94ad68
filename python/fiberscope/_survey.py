"""Statistics over random networks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _executor, _native
from ._terms import Options, terms
from .errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack


@dataclass(frozen=True, slots=True)
class _Settings:
    """What the native part reads."""

    widths: list[list[int]]
    count: int
    measures: list[str]
    init: str
    no_bias: bool
    interval: tuple[float, float] | None
    regions: int
    training: tuple[str, int] | None


def survey(
    widths: Iterable[int] | Iterable[Iterable[int]],
    count: int,
    measures: str | Iterable[str],
    *,
    init: str = "he",
    bias: bool = True,
    box: tuple[float, float] | None = None,
    regions: int = 20_000,
    task: str | None = None,
    epochs: int = 100,
    executor: Any = None,
    **options: Unpack[Options],
) -> dict[str, NDArray[Any]]:
    """Draws `count` networks of every list of widths and measures each: columns `widths` (which list, from 1 on), `seed`, and one per measure.

    Measures are identifiable, locally-identifiable, fiber-dimension, functional-dimension, regions, hidden, dead, linear,
    transparent, gap, and what explains the gap (gap-dead, gap-idle, ...); what is not decided is NaN. Network k is the one that `fs.train`
    starts with from seed `seed + k`; with a `task` (f1 to f3, g1 to g3, heating, cooling) it is trained on it first, for `epochs`. `box` is
    the interval of every input. With an `executor` its workers measure, with the same result.

    >>> import fiberscope as fs
    >>> found = fs.survey([3, 3, 2, 1], 1000, ["identifiable", "dead"])
    >>> float(found["identifiable"].mean()), fs.volume([3, 3, 2, 1], samples=1000).exact
    (0.752, '193/256')
    """
    lists = [[each] if isinstance(each, int) else [int(width) for width in each] for each in widths]
    if all(len(each) == 1 for each in lists):
        lists = [[each[0] for each in lists]]
    names = [measures] if isinstance(measures, str) else list(measures)
    if isinstance(count, bool) or count < 0:
        raise ArgumentError(f"count: expected a number of networks, found {count!r}")
    interval = None if box is None else (float(box[0]), float(box[1]))
    if isinstance(epochs, bool) or epochs < 0:
        raise ArgumentError(f"epochs: expected a number of passes, found {epochs!r}")
    training = None if task is None else (task, epochs)
    settings = _Settings(lists, count, names, init, not bias, interval, regions, training)
    with terms(**options) as given:
        if executor is None:
            found = _native.survey_rows(settings, given)
        else:
            plan = _native.plan_survey(settings, _executor.TASKS, given)
            found = _executor.run(plan, executor, given, _native.TaskResults.surveyed)
    rows = json.loads(found)
    values = np.array([row["values"] for row in rows], dtype=np.float64).reshape(len(rows), len(names))
    columns: dict[str, NDArray[Any]] = {
        "widths": np.repeat(np.arange(1, len(lists) + 1), count),
        "seed": np.array([row["seed"] for row in rows], dtype=np.uint64),
    }
    return columns | {name: values[:, at] for at, name in enumerate(names)}
