"""The functional dimension of any PyTorch module, in doubles: numerical, and called so.

For a batch of m inputs with k outputs each, J is the m k x P matrix of the derivatives of the outputs with respect to the
P parameters that are trained. Its rank is the number of singular values above a tolerance. While J fits into `memory` its
singular values are computed; otherwise those of the Gram matrix J J^T, block by block, whose square roots are known to half as
many digits only. Nothing here is a proof.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ._result import ASIDE, Result
from .errors import ArgumentError

if TYPE_CHECKING:
    import torch

Select = Callable[[Any], Any]
"""What makes a tensor of the answer of a module."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class NumericalDimension(Result):
    """The functional dimension of a module on a batch, from singular values in doubles: numerical, not proved."""

    rank: int
    """Singular values above the tolerance."""
    numerical: bool
    """Always true: another tolerance, or other rounding, may give another rank."""
    tolerance: float
    """Singular values up to this count as zero."""
    gap: float | None
    """The least singular value that counts, divided by the largest that does not; large where the rank is clear."""
    stable_rank: float
    """The sum of the squares of the singular values, divided by the largest square."""
    effective_dimension: float
    """exp of the entropy of the squares, taken as shares of their sum."""
    rows: int
    parameters: int
    """Parameters that are trained (`requires_grad`)."""
    method: str
    """`jacobian` or `gram`."""
    singular_values: np.ndarray = field(metadata=ASIDE)

    def __int__(self) -> int:
        return self.rank


def functional_dimension(
    module: torch.nn.Module,
    X: Any,
    *,
    tolerance: float | None = None,
    output: Select | None = None,
    memory: int = 2_000,
    block: int = 64,
) -> NumericalDimension:
    """The numerical functional dimension of a module on a batch X: a tensor, or what makes one, one input per entry.

    The module is copied, set to evaluation mode (no dropout, fixed batch statistics) and computed in doubles. `output` picks
    a tensor out of its answer. `tolerance` is absolute; by default it is max(rows, parameters) eps s_max for the Jacobian
    and sqrt(rows eps) s_max for the Gram matrix, which is taken if the Jacobian is larger than `memory` megabytes.
    """
    torch = _torch()
    if block < 1 or memory < 1:
        raise ArgumentError("block and memory: expected positive numbers")
    if tolerance is not None and not tolerance >= 0:
        raise ArgumentError(f"tolerance: expected a number that is not negative, found {tolerance}")
    rows_of = _Rows(torch, module, output)
    batch = rows_of.batch(X)
    first = rows_of(batch[:1])
    outputs, parameters = first.shape
    rows = len(batch) * outputs
    blocks = [batch[at : at + block] for at in range(0, len(batch), block)]
    if rows * parameters * 8 <= memory << 20:
        jacobian = torch.cat([rows_of(each) for each in blocks])
        values = torch.linalg.svdvals(jacobian).cpu().numpy()
        usual, method = max(rows, parameters) * np.finfo(float).eps, "jacobian"
    else:
        if rows * rows * 8 > memory << 20:
            raise ArgumentError(
                f"the Gram matrix of {rows} rows takes {rows * rows * 8 >> 20} MB, more than memory={memory}; use fewer inputs"
            )
        values = _gram_values(torch, rows_of, blocks)
        usual, method = float(np.sqrt(rows * np.finfo(float).eps)), "gram"
    return _result(values, usual, tolerance, (rows, parameters), method)


def _gram_values(torch: Any, rows_of: _Rows, blocks: list[Any]) -> np.ndarray:
    """Square roots of the eigenvalues of J J^T; two blocks of J are held at a time."""
    parts: list[list[Any]] = []
    for i, one in enumerate(blocks):
        left = rows_of(one)
        parts.append([left @ rows_of(other).T for other in blocks[:i]] + [left @ left.T])
    size = [part[-1].shape[0] for part in parts]
    starts = np.concatenate([[0], np.cumsum(size)])
    gram = torch.zeros((int(starts[-1]), int(starts[-1])), dtype=torch.float64)
    for i, row in enumerate(parts):
        for j, part in enumerate(row):
            gram[starts[i] : starts[i + 1], starts[j] : starts[j + 1]] = part
    values = torch.linalg.eigvalsh(gram).clamp(min=0).sqrt()  # of the lower triangle, which is filled
    return np.asarray(values.flip(0).cpu().numpy())


def _result(
    values: np.ndarray, usual: float, tolerance: float | None, shape: tuple[int, int], method: str
) -> NumericalDimension:
    if not np.isfinite(values).all():
        raise ArgumentError("the derivatives of the module are not finite on this batch")
    largest = float(values[0]) if values.size else 0.0
    limit = float(usual * largest if tolerance is None else tolerance)
    rank = int((values > limit).sum())
    squares = values**2
    total = float(squares.sum())
    shares = squares[squares > 0] / total if total > 0 else np.zeros(0)
    below = float(values[rank]) if rank < values.size else 0.0
    facts: dict[str, Any] = {
        "rank": rank,
        "numerical": True,
        "tolerance": limit,
        "gap": float(values[rank - 1]) / below if rank and below > 0 else None,
        "stable_rank": total / largest**2 if largest > 0 else 0.0,
        "effective_dimension": float(np.exp(-(shares * np.log(shares)).sum())) if shares.size else 0.0,
        "rows": shape[0],
        "parameters": shape[1],
        "method": method,
    }
    return NumericalDimension(data=facts, singular_values=values, **facts)


class _Rows:
    """The rows of the Jacobian of a module, for a few inputs at a time."""

    def __init__(self, torch: Any, module: Any, output: Select | None) -> None:
        self.torch, self.output = torch, output
        self.module = copy.deepcopy(module).double().eval()
        trained = [(name, value) for name, value in self.module.named_parameters() if value.requires_grad]
        if not trained:
            raise ArgumentError("the module has no parameters that are trained")
        self.names = [name for name, _ in trained]
        self.values = tuple(value.detach() for _, value in trained)
        self.fixed = dict(self.module.named_buffers()) | {
            name: value.detach() for name, value in self.module.named_parameters() if not value.requires_grad
        }
        self.together = True

    @property
    def parameters(self) -> int:
        return sum(value.numel() for value in self.values)

    def batch(self, X: Any) -> Any:
        torch = self.torch
        batch = X.detach() if isinstance(X, torch.Tensor) else torch.as_tensor(np.asarray(X))
        if batch.ndim < 1 or len(batch) == 0:
            raise ArgumentError("X: expected at least one input")
        batch = batch.to(self.values[0].device)
        return batch.double() if batch.is_floating_point() else batch

    def __call__(self, batch: Any) -> Any:
        torch = self.torch

        def outputs(values: tuple[Any, ...], x: Any) -> Any:
            given = dict(zip(self.names, values)) | self.fixed
            answer = torch.func.functional_call(self.module, given, (x.unsqueeze(0),))
            answer = answer if self.output is None else self.output(answer)
            if not isinstance(answer, torch.Tensor):
                raise ArgumentError(
                    f"the module answers with {type(answer).__name__}; output=lambda answer: ... picks a tensor"
                )
            return answer.reshape(-1)

        derivative = torch.func.jacrev(outputs)
        if self.together:
            try:
                found = torch.func.vmap(derivative, in_dims=(None, 0))(self.values, batch)
                return torch.cat([each.reshape(each.shape[0] * each.shape[1], -1) for each in found], dim=1).detach()
            except (RuntimeError, ValueError):
                self.together = False  # some operators know no batches; one input after the other then
        parts = [derivative(self.values, x) for x in batch]
        return torch.cat(
            [torch.cat([each.reshape(each.shape[0], -1) for each in part], dim=1) for part in parts]
        ).detach()


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ImportError("the functional dimension of a module needs PyTorch: pip install torch") from None
    return torch
