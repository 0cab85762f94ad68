"""Pages: reports, the tour, the experiments of the papers, and the explorer."""

from __future__ import annotations

import html
import os
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _executor, _native
from ._arrays import box as as_box
from ._arrays import points as as_points
from ._parameters import native
from ._result import make
from ._results.pages import ReportPage, Reproduction, TourPage
from ._terms import Options, terms
from .errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from ._arrays import BoxLike
    from ._parameters import NetworkLike

FileName = str | os.PathLike[str]


def report(
    a: NetworkLike,
    b: NetworkLike | None = None,
    *,
    path: FileName = "report.html",
    data: FileName | ArrayLike | None = None,
    box: BoxLike = None,
    **options: Unpack[Options],
) -> ReportPage:
    """Writes a self-contained HTML page about a network, or about two: what they are, with proof.

    `data` are inputs for the functional dimension, and to compare two networks on: an array, or a file; `box` is where the networks are
    judged and compared. With a bounded box the page tells how far apart two networks are at most, with pictures.

    >>> import os, tempfile, fiberscope as fs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = fs.report("zoo:hiding-two", "zoo:hiding-two-too-far", path=os.path.join(folder, "report.html"))
    ...     made.verdict, made.report.stat().st_size > 10_000
    ('different', True)
    """
    first = native(a, "a")
    second = None if b is None else native(b, "b")
    names = first.name, "" if second is None else second.name
    if names[0] == names[1]:
        names = f"{names[0]} (A)", f"{names[1]} (B)"
    if isinstance(data, (str, os.PathLike)):
        data = _native.load_data(data)
    given_points = None if data is None else as_points(data, "data", first.widths[0])
    with terms(**options) as given:
        found = _native.report(first, second, names, as_box(box), given_points, path, given)
    return make(ReportPage, found.json, of=(first, second), text=found.text, report=Path(path))


def tour(path: FileName = "report.html", **options: Unpack[Options]) -> TourPage:
    """Shows the main results on built-in networks: the text, and a page with the certificates.

    >>> import os, tempfile, fiberscope as fs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shown = fs.tour(os.path.join(folder, "tour.html"))
    >>> len(shown.claims), "hidden hyperplane" in shown.text
    (5, True)
    """
    with terms(**options) as given:
        found = _native.tour(path, given)
    return make(TourPage, found.json, text=found.text, report=Path(path))


def reproduce(
    name: str,
    folder: FileName = "reproduce",
    *,
    seeds: int | None = None,
    epochs: int | None = None,
    quick: bool = False,
    executor: Any = None,
    **options: Unpack[Options],
) -> Reproduction:
    """Runs an experiment of the papers again: figures, tables and a page in `folder`, our numbers beside the paper's.

    `name` is ntk-init, ntk-univariate, ntk-bivariate, ntk-energy, ntk-weight-decay, ntk-regions, or all; `quick` takes a tenth of the epochs
    and a third of the seeds. With an `executor` its workers train and extract, one experiment at a time, with the same result.

    >>> import tempfile, fiberscope as fs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = fs.reproduce("ntk-univariate", folder, seeds=2, epochs=4)
    >>> [group["group"] for group in found.experiments[0]["groups"]], found.page.name
    (['f1', 'f2', 'f3'], 'ntk-univariate.html')
    """
    with terms(**options) as given:
        if executor is not None:
            plan = _native.plan_reproduce(name, seeds, epochs, quick, _executor.TASKS, given)
            told = _executor.run(plan, executor, given, lambda results, given: results.answer(given, folder))
            page = Path(folder) / f"{name}.html"
            return make(Reproduction, told.json, text=told.text, page=page, complete=True)
        found = _native.reproduce(name, folder, seeds, epochs, quick, given)
    return make(Reproduction, found.json, text=found.text, page=found.page, complete=found.complete)


class Explorer:
    """The explorer page on this machine. It is served until `close`, or until the process ends; in a `with` block, until its end."""

    def __init__(self, server: _native.ExplorerServer) -> None:
        self._server = server

    @property
    def url(self) -> str:
        """The address to open in a browser. Nobody can guess it."""
        return self._server.url

    @property
    def port(self) -> int:
        """The port."""
        return self._server.port

    @property
    def closed(self) -> bool:
        """Whether the page is served no more."""
        return self._server.closed

    def close(self) -> None:
        """Stops serving."""
        self._server.close()

    def wait(self) -> None:
        """Serves until Ctrl-C."""
        try:
            while not self.closed:
                time.sleep(0.1)
        finally:
            self.close()

    def __enter__(self) -> Explorer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Explorer({self.url!r}{', closed' if self.closed else ''})"

    def _repr_html_(self) -> str:
        address = html.escape(self.url)
        return f"<a href='{address}' target='_blank' rel='noopener'>{address}</a>"


def explore(
    network: NetworkLike | None = None, *, port: int = 0, address: str = "127.0.0.1", path: FileName | None = None
) -> Explorer | Path:
    """Serves the explorer page with a network in it, on this machine only; with `path` it is written to that file instead.

    Scripts call `.wait()` on the result, which serves until Ctrl-C. Port 0 is one that is free.

        fs.explore(net).wait()
    """
    net = None if network is None else native(network, "network")
    if path is not None:
        _native.write_explorer(net, path)
        return Path(path)
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 65536:
        raise ArgumentError(f"port: expected a number from 0 to 65535, found {port!r}")
    return Explorer(_native.ExplorerServer(net, address, port))
