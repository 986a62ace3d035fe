"""Structural similarity for PyTorch: a module with gradients, on the CPU and on NVIDIA GPUs."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Tuple, Union

import torch
from torch import Tensor

from . import _inputs, _settings
from . import _tensors as T
from ._errors import BadInput
from ._unrolled import RULES, sinkhorn

__all__ = ["StructuralSimilarity"]

Globals = Tuple[Optional[Tensor], Optional[Tensor]]


class _Sides(NamedTuple):
    """Unit cells [N, R_s, D] and [M, R_t, D] and unit globals [N, D] and [M, D] of one type, differentiable."""

    source: Tensor
    target: Tensor
    source_globals: Tensor
    target_globals: Tensor


class _Pairs(NamedTuple):
    """Which sources meet which targets: all of them where there is no index."""

    index: Optional[Tensor] = None  # type: ignore[assignment]  # int64 [P, 2]
    aligned: bool = False           # the index is (0, 0), (1, 1) and so on: no row needs to be looked up

    def rows(self, of_source: Tensor, of_target: Tensor) -> Tuple[Tensor, Tensor]:
        if self.aligned or self.index is None:
            return of_source, of_target
        return of_source[self.index[:, 0]], of_target[self.index[:, 1]]

    def added(self, to: Tensor, side: int, of_pairs: Tensor) -> Tensor:
        """Sums, for each row of that side, what belongs to its pairs."""
        if self.aligned or self.index is None:
            return of_pairs
        return torch.zeros_like(to).index_add(0, self.index[:, side], of_pairs)


def _constant_scores(mass: Tensor, source: Tensor, target: Tensor, pairs: _Pairs) -> Tensor:
    """sum_ij T_ij <source_i, target_j>: [N, M] of plans [N, M, R_s, R_t], or [P] of pairs."""
    if pairs.index is not None:
        left, right = pairs.rows(source, target)
        return (torch.bmm(left, right.transpose(1, 2)) * mass).sum((1, 2))
    products = torch.matmul(source.flatten(0, 1), target.flatten(0, 1).t())
    products = products.view(source.shape[0], source.shape[1], target.shape[0], target.shape[1])
    return (products * mass.transpose(1, 2)).sum((1, 3))


class _WithPlans(torch.autograd.Function):
    """The matcher's own scores, with the gradient at its plans: no product of the cells is computed twice."""

    @staticmethod
    def forward(ctx: Any, source: Tensor, target: Tensor, scores: Tensor, mass: Tensor,
                pairs: _Pairs) -> Tensor:
        ctx.save_for_backward(source, target, mass, pairs.index)
        ctx.aligned = pairs.aligned
        return scores.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tuple[Optional[Tensor], ...]:  # type: ignore[override]
        source, target, mass, index = ctx.saved_tensors
        pairs = _Pairs(index, ctx.aligned)
        wanted = ctx.needs_input_grad
        of_source = of_target = None
        if index is None:
            # One product of all cells with all cells.
            weighted = (mass * gradient[..., None, None]).transpose(1, 2).flatten(2).flatten(0, 1)
            if wanted[0]:
                of_source = (weighted @ target.flatten(0, 1)).view_as(source)
            if wanted[1]:
                of_target = (weighted.t() @ source.flatten(0, 1)).view_as(target)
        else:
            weighted = mass * gradient[:, None, None]
            left, right = pairs.rows(source, target)
            if wanted[0]:
                of_source = pairs.added(source, 0, weighted @ right)
            if wanted[1]:
                of_target = pairs.added(target, 1, weighted.transpose(1, 2) @ left)
        return of_source, of_target, None, None, None


def unit(vectors: Tensor) -> Tensor:
    """Vectors [..., D] of any scale to length 1; zero vectors stay. Differentiable."""
    # A length does not overflow, and does not vanish, where the largest number is 1; the direction is the same.
    largest = vectors.detach().abs().amax(-1, keepdim=True)
    scaled = vectors / torch.where(largest > 0.0, largest, torch.ones_like(largest))
    lengths = torch.linalg.vector_norm(scaled, dim=-1, keepdim=True)
    return scaled / torch.where(lengths > 0.0, lengths, torch.ones_like(lengths))


def mean_of(cells: Tensor) -> Tensor:
    """The direction of the mean of cells [N, R, D] of any scale: [N, D]."""
    largest = cells.detach().abs().amax((1, 2), keepdim=True)
    return (cells / torch.where(largest > 0.0, largest, torch.ones_like(largest))).mean(1)


class StructuralSimilarity(torch.nn.Module):
    """Structural similarity of images, from their cells: the sum of transport plan * cosine over all pairs of cells.

    plan: "constant": the plan is a constant for the gradient; it comes from the compiled matcher, on the tensors' device
        and current stream. "unrolled": the gradient flows through Sinkhorn's iterations too; in torch, slower, with
        memory for two vectors of every pair and iteration.
    lambda_, marginals ("cross_correlation" or "uniform"), tolerance, max_iterations: as for diml.similarity().
    backend: of constant plans: "auto", "cpu", "reference" or "cuda".

    >>> import torch, diml.torch
    >>> cells = torch.randn(8, 16, 32, generator=torch.Generator().manual_seed(0)).requires_grad_()
    >>> sim = diml.torch.StructuralSimilarity()
    >>> sim(cells[:4], cells[4:]).shape, sim(cells, cells, pairs="all").shape
    (torch.Size([4]), torch.Size([8, 8]))
    >>> sim(cells[:4], cells[4:]).sum().backward()
    >>> cells.grad.shape
    torch.Size([8, 16, 32])
    """

    def __init__(self, plan: str = "constant", *, lambda_: float = 0.05, marginals: str = "cross_correlation",
                 tolerance: float = 1e-4, max_iterations: int = 1000, backend: str = "auto") -> None:
        super().__init__()
        if plan not in ("constant", "unrolled"):
            raise BadInput(f"unknown plan '{plan}': constant or unrolled")
        self.plan, self.lambda_, self.marginals, self.backend = plan, lambda_, marginals, backend
        self.tolerance, self.max_iterations = tolerance, max_iterations
        self._params()  # says what is wrong with them
        if plan == "unrolled" and marginals not in RULES:
            raise BadInput(f"marginals '{marginals}' have no unrolled plans: {' or '.join(RULES)} have, and plan='constant' "
                           "takes every rule")

    def _params(self) -> Any:
        # Not kept: a module is copied and pickled.
        return _settings.params(self.marginals, self.lambda_, self.tolerance, self.max_iterations)

    def extra_repr(self) -> str:
        return f"plan={self.plan!r}, lambda_={self.lambda_}, marginals={self.marginals!r}"

    def forward(self, source: Tensor, target: Tensor, globals: Globals = (None, None),
                pairs: Union[str, Tensor] = "aligned", plans: Optional[Tensor] = None) -> Tensor:
        """Similarities of source cells [N, R_s, D] and target cells [M, R_t, D], of any scale.

        globals: [N, D] and [M, D]; None is the mean of the cells. pairs: "aligned", source i with target i (N = M): [N];
        "all": [N, M]; or int64 [P, 2], (row of source, row of target): [P]. plans: those to use, as plans() returns them,
        in place of computing them.

        float16 and bfloat16 are computed in float32. The result has the type and the device of `source`.
        """
        T.check_tensor(source, "source")
        with torch.autocast(source.device.type, enabled=False):
            sides = self._sides(source, target, globals)
            return self._scores(sides, self._listed(pairs, sides), plans).to(source.dtype)

    def _scores(self, sides: _Sides, listed: _Pairs, plans: Optional[Tensor]) -> Tensor:
        if plans is not None:
            pairs = (len(sides.source), len(sides.target)) if listed.index is None else (len(listed.index),)
            wanted = [*pairs, sides.source.shape[1], sides.target.shape[1]]
            T.check_tensor(plans, "plans")
            if list(plans.shape) != wanted:
                raise BadInput(f"plans is {list(plans.shape)} where {wanted} is wanted, as plans() returns it")
            return _constant_scores(plans.detach().to(sides.source.dtype), sides.source, sides.target, listed)
        if self.plan == "unrolled":
            return self._unrolled(sides, listed)[0]
        found, mass = self._matched(sides, listed)
        if sides.source.dtype == torch.float64:
            return _constant_scores(mass.double(), sides.source, sides.target, listed)
        return _WithPlans.apply(sides.source, sides.target, found, mass, listed)

    def plans(self, source: Tensor, target: Tensor, globals: Globals = (None, None),
              pairs: Union[str, Tensor] = "aligned") -> Tensor:
        """The transport plans: [N, R_s, R_t], [N, M, R_s, R_t] or [P, R_s, R_t]. Rows are source cells, columns target
        cells. Without a gradient."""
        T.check_tensor(source, "source")
        with torch.no_grad(), torch.autocast(source.device.type, enabled=False):
            sides = self._sides(source, target, globals)
            listed = self._listed(pairs, sides)
            return self._unrolled(sides, listed)[1] if self.plan == "unrolled" else self._matched(sides, listed)[1]

    @staticmethod
    def _sides(source: Tensor, target: Tensor, vectors: Globals) -> _Sides:
        made, vectors = [], _settings.both(vectors)
        for cells, of_cells, name in ((source, vectors[0], "source"), (target, vectors[1], "target")):
            T.check_cells(cells, name)
            if of_cells is not None:
                T.check_globals(of_cells, cells, name)
            else:
                _inputs.warn_if_turned(tuple(cells.shape), name, "globals say that it is not")
        if source.device != target.device or source.shape[2] != target.shape[2]:
            raise BadInput(f"source is {list(source.shape)} on {source.device}, target {list(target.shape)} on "
                           f"{target.device}: one number of dimensions and one device are wanted")
        double = torch.float64 in (source.dtype, target.dtype)
        kind = torch.float64 if double else torch.float32
        for cells, of_cells in ((source, vectors[0]), (target, vectors[1])):
            wide = cells.to(kind)
            means = mean_of(wide) if of_cells is None else of_cells.to(kind)
            made.append((unit(wide), unit(means)))
        return _Sides(made[0][0], made[1][0], made[0][1], made[1][1])

    @staticmethod
    def _listed(pairs: Union[str, Tensor], sides: _Sides) -> _Pairs:
        sources, targets = len(sides.source), len(sides.target)
        if not isinstance(pairs, str):
            return _Pairs(T.checked_pairs(pairs, sources, targets, sides.source.device))
        if pairs == "all":
            return _Pairs()
        if pairs != "aligned":
            raise BadInput(f"unknown pairs '{pairs}': aligned, all, or [P, 2]")
        if sources != targets:
            raise BadInput(f"there are {sources} sources and {targets} targets: pairs='all' takes every one with every "
                           "other")
        return _Pairs(torch.arange(sources, device=sides.source.device).unsqueeze(1).expand(-1, 2).contiguous(), True)

    def _matched(self, sides: _Sides, listed: _Pairs) -> Tuple[Tensor, Tensor]:
        """The compiled matcher's scores and plans, float32."""
        def unit(cells: Tensor, vectors: Tensor) -> T.Grids:
            return T.Grids(cells.detach().float().contiguous(), vectors.detach().float().contiguous())

        scores, mass = T.match(unit(sides.source, sides.source_globals), unit(sides.target, sides.target_globals),
                               self._params(), pairs=listed.index, plans=True, backend=self.backend)
        assert mass is not None
        return scores, mass

    def _unrolled(self, sides: _Sides, listed: _Pairs) -> Tuple[Tensor, Tensor]:
        """Scores and plans with the gradient through the iterations."""
        source, target, of_source, of_target = sides
        shape = (len(source), len(target))
        if listed.index is not None:
            source, target = listed.rows(source, target)
            of_source, of_target = listed.rows(of_source, of_target)
            products = torch.bmm(source, target.transpose(1, 2))
            rows = (source @ of_target.unsqueeze(-1)).squeeze(-1)
            columns = (target @ of_source.unsqueeze(-1)).squeeze(-1)
        else:
            products = torch.einsum("nid,mjd->nmij", source, target).flatten(0, 1)
            rows = torch.einsum("nid,md->nmi", source, of_target).flatten(0, 1)
            columns = torch.einsum("mjd,nd->nmj", target, of_source).flatten(0, 1)
        weigh = RULES[self.marginals]
        mass = sinkhorn(products, weigh(rows), weigh(columns), self.lambda_, self.tolerance, self.max_iterations)
        scores = (mass * products).sum((1, 2))
        if listed.index is None:
            return scores.view(shape), mass.view(*shape, *mass.shape[1:])
        return scores, mass
