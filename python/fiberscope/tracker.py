"""A hook for training loops: functional dimension, regions, states of neurons and conserved quantities over time."""

from __future__ import annotations

import csv as csv_module
import json
import os
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._arrays import points as as_points
from ._dimension import exact_network
from ._numerical import Select, functional_dimension
from ._parameters import Parameters, native
from ._result import make
from ._results.measures import Dynamics
from ._terms import Options, terms
from .errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from ._parameters import NetworkLike


class Tracker:
    """Watches a PyTorch module (or anything that `fs.equiv` takes) while it is trained.

    Every `every` steps a record is made on `data` (one point per row):

    - `functional_dimension`: the exact rank of the parameter Jacobian on the data, and `functional_dimension_upper`, a
      proved upper bound; every `dimension_every`-th record only, as it takes longest, never with 0;
    - `regions`: linear regions that the points lie in;
    - `dead`, `linear`, `nonlinear`: hidden neurons that are active at no point, at every point, at some;
    - `drift`: the largest change since the start of |w_out|^2 - |w_in|^2 - b^2 of a hidden neuron, which gradient flow
      conserves, and `conserved_1`, ...: its sum over each hidden layer;
    - `seconds`: what the record itself took; and whatever `step` was given, as in `tracker.step(loss=loss.item())`.

    Eliminations run on `device` ("cpu", "cuda", "cuda:1", ..., or "auto", a GPU if one can be used) and take at most
    `memory` megabytes there and here; the answers do not depend on it.

    A module that cannot be read exactly with its own parameters (smooth activations, convolutions, attention) is watched in doubles: its
    records have `functional_dimension`, a numerical rank, with `numerical` true, `tolerance`, `stable_rank` and `effective_dimension`, and `drift` and
    the states of neurons are left out. `output` picks a tensor out of what the module answers.

    `tracker.dynamics()` tells when neurons died or became linear on the data, when the functional dimension changed and
    which conserved quantities drift, with a picture; given trackers of runs with other steps, also how the drift depends
    on the step.

    Records go to `tracker.records`, to the file `csv` after each one, and to TensorBoard event files in the folder
    `tensorboard` (needs the package tensorboard). The first record is made at once, for step 0.

    >>> import fiberscope as fs, numpy as np
    >>> tracker = fs.Tracker(fs.load("zoo:abs"), [[-1.0], [2.0]], every=2)
    >>> for step in range(4):
    ...     tracker.step(loss=1.0 / (step + 1))
    >>> [(record["step"], record["functional_dimension"], record["loss"]) for record in tracker.records]
    [(0, 2, None), (2, 2, 0.5), (4, 2, 0.25)]
    """

    def __init__(
        self,
        model: NetworkLike,
        data: ArrayLike,
        every: int = 100,
        *,
        dimension_every: int = 1,
        csv: str | os.PathLike[str] | None = None,
        tensorboard: str | os.PathLike[str] | None = None,
        seed: int = 0,
        threads: int | None = None,
        device: str = "cpu",
        memory: int = 12_000,
        output: Select | None = None,
    ) -> None:
        if every < 1 or dimension_every < 0:
            raise ArgumentError(
                "every: expected a positive number of steps; dimension_every: expected a number from 0 on"
            )
        self.model = model
        self.every, self.dimension_every = every, dimension_every
        self.records: list[dict[str, Any]] = []
        self._moments: list[dict[str, Any]] = []
        self.steps = 0
        self.seconds = 0.0
        """The time that all records took together."""
        self._terms: Options = {"seed": seed, "threads": threads, "progress": False}
        self._device, self._memory = _native.Device(device), memory
        if self._device.fallback is not None:
            warnings.warn(f"device {device!r}: the CPU is used: {self._device.fallback}", stacklevel=2)
        self._output = output
        self._data: Any
        self.numerical = output is not None or exact_network(model) is None
        """Whether the records are numerical: the module cannot be read with its own parameters."""
        if self.numerical:
            self._data = data.detach().clone() if hasattr(data, "detach") else np.array(data)
        else:
            net = self._network()
            self._data = as_points(data, "data", net.widths[0]).copy()
            self._start = _conserved(net)
        self._csv = None if csv is None else Path(csv)
        self._writer = None if tensorboard is None else _EventFiles(tensorboard)
        self.record()

    def step(self, **scalars: float) -> None:
        """To be called after every step of the optimiser, with whatever is to be recorded beside."""
        self.steps += 1
        if self.steps % self.every == 0:
            self.record(**scalars)

    def record(self, **scalars: float) -> dict[str, Any]:
        """Makes a record now."""
        begun = time.perf_counter()
        known = len(self._moments)
        made: dict[str, Any] = {"step": self.steps} | self._observe()
        made |= {name: float(value) for name, value in scalars.items()}
        if len(self._moments) > known:
            self._moments[-1] |= {"at": self.steps, "loss": _finite(made.get("loss"))}
        made["seconds"] = time.perf_counter() - begun
        new = [name for name in made if self.records and name not in self.records[0]]
        for each in self.records:
            each.update(dict.fromkeys(new))
        self.records.append({name: None for name in (self.records[0] if self.records else ())} | made)
        self._log(made, whole=bool(new))
        self.seconds += time.perf_counter() - begun
        return made

    def dynamics(self, by_step: Mapping[float, Tracker] | None = None) -> Dynamics:
        """What happened along the run so far: changes of neurons and dimensions, drift of conserved quantities, a picture.

        `by_step` has trackers of runs of the same length (step size times number of steps) by their step size.

        >>> import fiberscope as fs
        >>> tracker = fs.Tracker(fs.load("zoo:abs"), [[-1.0], [2.0]], every=1)
        >>> tracker.model = fs.Network([[[1.0], [-1.0]], [[1.0, 1.0]]], [[-3.0, 0.0], [0.0]])
        >>> tracker.step()
        >>> [(event["neuron"], event["now"]) for event in tracker.dynamics().events if "neuron" in event]
        [(1, 'dead')]
        """
        if self.numerical:
            raise ArgumentError("dynamics: neurons and conserved quantities of this module are not watched")
        drifts = [(float(step), float(run.records[-1]["drift"])) for step, run in (by_step or {}).items()]
        drifts.sort(reverse=True)
        run = {
            "title": "Training",
            "unit": "step",
            "parameters": self.records[0]["parameters"],
            "moments": self._moments,
            "drifts": drifts,
        }
        found = _native.dynamics(json.dumps(run))
        return make(Dynamics, found.json, text=found.text, _picture=found.picture)

    def close(self) -> None:
        """Makes a last record if steps were made since the last one, and closes the event files."""
        if self.steps != self.records[-1]["step"]:
            self.record()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def __enter__(self) -> Tracker:
        return self

    def __exit__(self, *exception: object) -> None:
        if exception[0] is None:
            self.close()
        elif self._writer is not None:
            self._writer.close()

    def __repr__(self) -> str:
        return f"Tracker({self.steps} steps, {len(self.records)} records, {self.seconds:.3f} s)"

    def _network(self) -> Parameters:
        return Parameters._of(native(self.model, "model"))

    def _observe(self) -> dict[str, Any]:
        every = self.dimension_every
        dimension = every > 0 and len(self.records) % every == 0
        if self.numerical:
            return self._observe_numerically(dimension)
        try:
            net = self._network()
        except ArgumentError as error:
            if not self.records:
                raise
            warnings.warn(f"step {self.steps}: nothing to observe: {error}", stacklevel=4)
            return {"functional_dimension": None, "drift": float("nan")}
        with terms(**self._terms) as given:
            found = json.loads(_native.observe(net._net, self._data, dimension, self._memory, self._device, given))
        count = {state: sum(layer[state] for layer in found["layers"]) for state in ("inactive", "active", "switching")}
        now = _conserved(net)
        changes = [a - b for a, b in zip(now, self._start)]
        drift = max((float(np.abs(each).max()) for each in changes if each.size), default=0.0)
        rank = None if found["rank"] is None else (found["rank"], found["rank_upper"])
        kept = {name: found[name] for name in ("doubt", "states")}
        self._moments.append({"rank": rank, "changes": [each.tolist() for each in changes]} | kept)
        return {
            "functional_dimension": found["rank"],
            "functional_dimension_upper": found["rank_upper"],
            "parameters": net.parameter_count,
            "regions": found["regions"],
            "dead": count["inactive"],
            "linear": count["active"],
            "nonlinear": count["switching"],
            "drift": drift,
        } | {f"conserved_{layer}": float(values.sum()) for layer, values in enumerate(now, 1)}

    def _observe_numerically(self, dimension: bool) -> dict[str, Any]:
        module: Any = self.model
        parameters = sum(value.numel() for value in module.parameters() if value.requires_grad)
        names = ("tolerance", "stable_rank", "effective_dimension")
        found = functional_dimension(module, self._data, output=self._output) if dimension else None
        rank = {
            "functional_dimension": None if found is None else found.rank,
            "numerical": True,
            "parameters": parameters,
        }
        return rank | {name: None if found is None else getattr(found, name) for name in names}

    def _log(self, made: dict[str, Any], whole: bool) -> None:
        if self._csv is not None:
            fresh = whole or len(self.records) == 1
            rows = self.records if fresh else self.records[-1:]
            with open(self._csv, "w" if fresh else "a", newline="", encoding="utf-8") as file:
                writer = csv_module.DictWriter(file, list(self.records[0]))
                if fresh:
                    writer.writeheader()
                writer.writerows(rows)
        if self._writer is not None:
            self._writer.add(self.steps, made)


def _finite(value: float | None) -> float | None:
    """What JSON can hold."""
    return value if value is not None and np.isfinite(value) else None


def _conserved(net: Parameters) -> list[np.ndarray]:
    """|w_out|^2 - |w_in|^2 - b^2 of every hidden neuron."""
    weights, biases = net.weights, net.biases
    return [
        (behind**2).sum(axis=0) - (before**2).sum(axis=1) - bias**2
        for before, behind, bias in zip(weights, weights[1:], biases)
    ]


class _EventFiles:
    """Scalars in TensorBoard's event files."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        try:
            from tensorboard.compat.proto.event_pb2 import Event
            from tensorboard.compat.proto.summary_pb2 import Summary
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ImportError:
            raise ImportError("event files need the package tensorboard: pip install tensorboard") from None
        self._event, self._summary = Event, Summary
        self._file = EventFileWriter(os.fspath(folder))

    def add(self, step: int, made: dict[str, Any]) -> None:
        values = [
            self._summary.Value(tag=f"fiberscope/{name}", simple_value=float(value))
            for name, value in made.items()
            if name != "step" and value is not None
        ]
        self._file.add_event(self._event(wall_time=time.time(), step=step, summary=self._summary(value=values)))
        self._file.flush()

    def close(self) -> None:
        self._file.close()
