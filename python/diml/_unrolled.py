"""Sinkhorn's iterations in torch, with a gradient through all of them.

Each pair stops by its own marginal error: neither its plan nor its gradient depends on the pairs beside it.
"""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor

_NO_CORRELATION = 1e-6  # as the library's: a smaller sum gives equal weights
_TINY = 1e-30


class _Iteration(NamedTuple):
    """Input and output of an iteration, for the pairs that had not stopped before."""

    pairs: Tensor  # [n] int64, their places in the batch
    log_b: Tensor  # [n, R_t], of the iteration before
    log_a: Tensor  # [n, R_s]


def _over_columns(kernel: Tensor, log_b: Tensor) -> Tensor:
    return kernel + log_b.unsqueeze(-2)


def _over_rows(kernel: Tensor, log_a: Tensor) -> Tensor:
    return kernel + log_a.unsqueeze(-1)


def _shares(logits: Tensor, dim: int) -> Tensor:
    return (logits - torch.logsumexp(logits, dim, keepdim=True)).exp_()


def _solve(every: Tensor, log_source: Tensor, log_target: Tensor, tolerance: float, max_iterations: int,
           history: Optional[List[_Iteration]]) -> Tensor:
    final_a, final_b = torch.empty_like(log_source), torch.empty_like(log_target)
    kernel = every
    pairs = torch.arange(len(every), device=every.device)
    log_b = torch.zeros_like(log_target)
    row_sums = torch.logsumexp(_over_columns(kernel, log_b), -1)
    iteration = 0
    while len(pairs):
        iteration += 1
        log_a = log_source - row_sums
        if history is not None:
            history.append(_Iteration(pairs, log_b, log_a))
        log_b = log_target - torch.logsumexp(_over_rows(kernel, log_a), -2)
        row_sums = torch.logsumexp(_over_columns(kernel, log_b), -1)
        error = ((log_a + row_sums).exp() - log_source.exp()).abs().sum(-1)
        goes_on = error >= tolerance if iteration < max_iterations else torch.zeros_like(error, dtype=torch.bool)
        staying = goes_on.nonzero().squeeze(1)
        if len(staying) == len(pairs):
            continue
        ended = goes_on.logical_not().nonzero().squeeze(1)
        final_a.index_copy_(0, pairs[ended], log_a[ended])
        final_b.index_copy_(0, pairs[ended], log_b[ended])
        pairs, kernel, log_source, log_target, log_b, row_sums = (
            of_pairs[staying] for of_pairs in (pairs, kernel, log_source, log_target, log_b, row_sums))
    return _over_columns(_over_rows(every, final_a), final_b).exp_()


class _UnrolledSinkhorn(torch.autograd.Function):
    """Plain autograd would keep two matrices of every iteration; two vectors suffice to restore them."""

    @staticmethod
    def forward(ctx: Any, kernel: Tensor, log_source: Tensor, log_target: Tensor, tolerance: float,
                max_iterations: int) -> Tensor:
        history: List[_Iteration] = []
        plans = _solve(kernel, log_source, log_target, tolerance, max_iterations, history)
        ctx.save_for_backward(kernel, plans, *(tensor for one in history for tensor in one))
        return plans

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tuple[Optional[Tensor], ...]:  # type: ignore[override]
        every, plans, *kept = ctx.saved_tensors
        of_kernel = gradient * plans
        of_a, of_b = of_kernel.sum(-1), of_kernel.sum(-2)  # of the last iteration of each pair
        of_source, of_target = torch.zeros_like(of_a), torch.zeros_like(of_b)
        for end in range(len(kept), 0, -3):
            pairs, log_b, log_a = kept[end - 3:end]
            kernel = every if len(pairs) == len(every) else every[pairs]
            # log_b' = log_target - logsumexp over the rows of (kernel + log_a).
            gradient_b = of_b[pairs]
            through = _shares(_over_rows(kernel, log_a), -2).mul_(gradient_b.unsqueeze(-2))
            of_target.index_add_(0, pairs, gradient_b)
            of_kernel.index_add_(0, pairs, through, alpha=-1)
            # log_a = log_source - logsumexp over the columns of (kernel + log_b).
            gradient_a = of_a[pairs] - through.sum(-1)
            through = _shares(_over_columns(kernel, log_b), -1).mul_(gradient_a.unsqueeze(-1))
            of_source.index_add_(0, pairs, gradient_a)
            of_kernel.index_add_(0, pairs, through, alpha=-1)
            # An earlier iteration passes on only its log_b.
            of_b.index_copy_(0, pairs, through.sum(-2).neg_())
            of_a.index_fill_(0, pairs, 0.0)
        return of_kernel, of_source, of_target, None, None


def sinkhorn(similarity: Tensor, source: Tensor, target: Tensor, lambda_: float, tolerance: float,
             max_iterations: int) -> Tensor:
    """Plans [P, R_s, R_t] of similarities [P, R_s, R_t] and weights [P, R_s], [P, R_t]. Differentiable once."""
    kernel = (similarity - 1.0) / lambda_
    # Through logarithms: a cell without weight stays without mass, whatever lambda is.
    log_source, log_target = source.clamp_min(_TINY).log(), target.clamp_min(_TINY).log()
    if torch.is_grad_enabled() and any(t.requires_grad for t in (kernel, log_source, log_target)):
        return _UnrolledSinkhorn.apply(kernel, log_source, log_target, tolerance, max_iterations)
    return _solve(kernel, log_source, log_target, tolerance, max_iterations, None)


def _uniform(correlation: Tensor) -> Tensor:
    return torch.full_like(correlation, 1.0 / correlation.shape[-1])


def _cross_correlation(correlation: Tensor) -> Tensor:
    """What is below 0 counts as 0."""
    positive = torch.relu(correlation)
    sums = positive.sum(-1, keepdim=True)
    return torch.where(sums > _NO_CORRELATION, positive / sums.clamp_min(_NO_CORRELATION), _uniform(positive))


# The rules of marginals that have a gradient: weights [..., R] of the products of cells with the other side's global.
RULES = {"cross_correlation": _cross_correlation, "uniform": _uniform}
