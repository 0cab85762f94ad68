"""Long work on an executor: process pools, Dask, MPI pools, Ray.

A question is a plan; its tasks are bytes, and so are their results. A worker is given a task and the name of its plan. It keeps the plans
that it has seen, so that networks travel once to every worker: one that does not know a plan says so, and is sent it with the task.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from itertools import cycle, repeat
from typing import TYPE_CHECKING, Any, TypeVar

from . import _native
from ._terms import Terms
from .errors import ArgumentError, FiberscopeError, UndecidedError

if TYPE_CHECKING:
    from ._native import Measured

T = TypeVar("T")

SLICE = 10.0
"""How many seconds a task runs before it hands over what it has; the rest are new tasks."""
TASKS = 64
"""About how many tasks a plan has at the beginning."""
_WINDOW = 512
"""The most tasks that are handed to an executor at a time."""
_TRIES = 8
"""How often a task is handed out again when its worker is lost."""
_KEPT = 8
"""How many plans a worker keeps."""

_plans: dict[str, _native.Plan] = {}
_devices: dict[str, _native.Device] = {}


def _work(
    digest: str, plan: bytes | None, task: bytes, slice: float | None, threads: int, device: str | None = None
) -> bytes | None:
    """What a worker does: the result of a task, or nothing if it does not know the plan."""
    known = _plans.get(digest)
    if known is None:
        if plan is None:
            return None
        known = _native.Plan(plan)
        if known.digest != digest:
            raise FiberscopeError(f"a plan was damaged on its way: expected {digest}, found {known.digest}")
        while len(_plans) >= _KEPT:
            del _plans[next(iter(_plans))]
        _plans[digest] = known
    if device is not None and device not in _devices:
        _devices[device] = _native.Device(device)
    return known.work(task, slice, None if device is None else _devices[device], Terms(0, threads, None, None))


def answer(
    plan: _native.Plan, executor: Any, given: Terms, slice: float | None = SLICE, devices: Sequence[str] = ()
) -> Measured:
    """The answer of a plan whose tasks an executor does, one after another on the next of the devices."""
    return run(plan, executor, given, _native.TaskResults.answer, slice, devices)


def run(
    plan: _native.Plan,
    executor: Any,
    given: Terms,
    merge: Callable[[_native.TaskResults, Terms], T],
    slice: float | None = SLICE,
    devices: Sequence[str] = (),
) -> T:
    """What is made of the results of a plan whose tasks an executor does."""
    _check(executor)
    work = _Work(plan, executor, given, slice, devices)
    try:
        return merge(work.run(), given)
    except BaseException:
        # Ctrl-C among others: nothing more is begun, and what runs ends with its slice.
        work.cancel()
        raise


def _check(executor: Any) -> None:
    if not callable(getattr(executor, "submit", None)):
        raise ArgumentError(
            "executor: expected a concurrent.futures.Executor, such as ProcessPoolExecutor(), "
            f"a Dask client's get_executor(), or fs.RayExecutor(); found {type(executor).__name__}"
        )


class _Work:
    def __init__(
        self, plan: _native.Plan, executor: Executor, given: Terms, slice: float | None, devices: Sequence[str]
    ) -> None:
        self._plan, self._executor, self._given, self._slice = plan, executor, given, slice
        self._devices: Iterator[str | None] = cycle(devices) if devices else repeat(None)
        self._bytes: bytes | None = None
        self._results = plan.results()
        self._running: dict[Future[bytes | None], tuple[str, bytes]] = {}
        self._tries: dict[str, int] = {}
        self._names: set[str] = set()
        self._waiting: list[tuple[str, bytes]] = []
        self._left = True
        # Tasks that came back because their worker does not know the plan, those that travel with it, and how many of these are done.
        self._unknown: list[tuple[str, bytes]] = []
        self._sending: set[Future[bytes | None]] = set()
        self._informed = 0
        self._released: set[str] = set()
        self._strangers = 0
        self._done = 0
        self._end = None if given.time_limit is None else time.monotonic() + given.time_limit

    def run(self) -> _native.TaskResults:
        while self._look():
            self._hand_out()
            self._take_in()
        self.cancel()
        return self._results

    def _look(self) -> bool:
        """Whether anything is missing. New tasks are asked for when results have left some, or when all that are known are done."""
        if self._left or not (self._waiting or self._running or self._unknown):
            self._left = False
            missing = self._results.missing()
            self._waiting = [each for each in missing if each[0] not in self._names]
            self._waiting.reverse()
            return bool(missing)
        return True

    def _hand_out(self) -> None:
        while self._waiting and len(self._running) < _WINDOW:
            name, task = self._waiting.pop()
            self._submit(name, task, None)

    def _submit(self, name: str, task: bytes, plan: bytes | None) -> None:
        # One thread for every task: the executor's workers are what runs side by side.
        threads = 1 if self._given.threads is None else self._given.threads
        words = (self._plan.digest, plan, task, self._slice, threads, next(self._devices))
        future = self._executor.submit(_work, *words)
        self._running[future] = (name, task)
        self._names.add(name)
        if plan is not None:
            self._sending.add(future)

    def _take_in(self) -> None:
        if self._end is not None and time.monotonic() > self._end:
            raise UndecidedError(
                f"the time limit was reached; {self._done} tasks were done, {len(self._running)} are left"
            )
        done, _ = wait(self._running, timeout=0.2, return_when=FIRST_COMPLETED)
        for future in done:
            name, task = self._running.pop(future)
            sent = future in self._sending
            self._sending.discard(future)
            try:
                result = future.result()
            except (FiberscopeError, KeyboardInterrupt):
                raise
            except Exception as error:
                # A worker that is lost takes its task with it.
                self._tries[name] = self._tries.get(name, 0) + 1
                if self._tries[name] > _TRIES:
                    raise UndecidedError(f"a task failed {_TRIES + 1} times, the last time with {error!r}") from error
                self._submit(name, task, self._whole())
                continue
            if result is None:
                # After the first worker was sent the plan, this one is another.
                self._strangers += name in self._released
                self._unknown.append((name, task))
                continue
            self._informed += sent
            # This worker knows the plan, and is free.
            for name_of_other, other in self._unknown[:2]:
                self._submit(name_of_other, other, None)
                self._released.add(name_of_other)
            del self._unknown[:2]
            self._left |= self._results.add(result) > 0
            self._names.discard(name)
            self._done += 1
            if self._given.progress is not None:
                self._given.progress(f"{self._done} tasks done, {len(self._running)} at work")
        self._inform()

    def _inform(self) -> None:
        """Sends the plan to a first worker, and then to those that turn out not to know it, at most as many at a time as know it."""
        while (
            self._unknown
            and len(self._sending) <= self._informed
            and (self._strangers or not self._informed or not self._running)
        ):
            self._strangers = max(0, self._strangers - 1)
            name, task = self._unknown.pop()
            self._submit(name, task, self._whole())

    def _whole(self) -> bytes:
        if self._bytes is None:
            self._bytes = self._plan.bytes
        return self._bytes

    def cancel(self) -> None:
        for future in self._running:
            future.cancel()


class RayExecutor(Executor):
    """An executor whose workers are those of a Ray cluster: `ray.init()` first, then `executor=fs.RayExecutor()`.

    `options` are those of `ray.remote`, such as `num_cpus=1`.
    """

    def __init__(self, **options: Any) -> None:
        try:
            import ray
        except ImportError:
            raise ArgumentError("RayExecutor needs Ray: pip install ray") from None
        self._ray = ray
        self._options = options
        self._remote: dict[Callable[..., Any], Any] = {}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        remote = self._remote.get(fn)
        if remote is None:
            remote = self._ray.remote(**self._options)(fn) if self._options else self._ray.remote(fn)
            self._remote[fn] = remote
        reference = remote.remote(*args, **kwargs)
        return _RayFuture.of(self._ray, reference)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing is to be closed: the cluster belongs to the caller."""


class _RayFuture(Future[Any]):
    """A future that cancels the task of a cluster."""

    _ray: Any
    _reference: Any

    @staticmethod
    def of(ray: Any, reference: Any) -> _RayFuture:
        future = _RayFuture()
        future._ray, future._reference = ray, reference

        def done(inner: Future[Any]) -> None:
            if future.cancelled():
                return
            error = inner.exception()
            try:
                if error is None:
                    future.set_result(inner.result())
                else:
                    future.set_exception(error)
            except Exception:
                # It was cancelled in between.
                return

        reference.future().add_done_callback(done)
        return future

    def cancel(self) -> bool:
        cancelled = super().cancel()
        if cancelled:
            self._ray.cancel(self._reference, force=False)
        return cancelled
