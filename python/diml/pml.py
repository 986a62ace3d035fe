"""Adapters for pytorch-metric-learning: its distance interface and its inference interface. They need torch alone.

Its embeddings are one vector for each image. pack() makes one of an image's cells and its global vector.

>>> import torch, diml.pml
>>> cells = torch.randn(6, 16, 8, generator=torch.Generator().manual_seed(0))
>>> embeddings = diml.pml.pack(cells, cells.mean(1))
>>> embeddings.shape
torch.Size([6, 136])
>>> diml.pml.StructuralDistance(grid=(4, 4))(embeddings).shape
torch.Size([6, 6])
>>> distances, indices = diml.pml.StructuralKNN(rerank=5)(embeddings, 2, embeddings, ref_includes_query=True)
>>> indices.shape
torch.Size([6, 2])
"""

from __future__ import annotations

import weakref
from typing import Any, List, Optional, Tuple, Union

import torch
from torch import Tensor

from . import _inputs, _search
from ._errors import BadInput
from ._settings import pair, whole
from ._tensors import check_globals, check_tensor
from .torch import StructuralSimilarity, mean_of, unit

__all__ = ["StructuralDistance", "StructuralKNN", "pack", "unpack"]


def pack(cells: Tensor, globals: Optional[Tensor] = None) -> Tensor:
    """Embeddings [N, R * D + D] of cells [N, R, D] (or a map [N, D, rows, cols]) and globals [N, D]: cell after cell, row by
    row of the grid, then the global. Without globals [N, R * D], for StructuralDistance(..., globals=False).

    >>> import torch, diml.pml
    >>> feature_map = torch.randn(2, 8, 4, 4)
    >>> diml.pml.pack(feature_map, feature_map.mean((2, 3))).shape
    torch.Size([2, 136])
    """
    check_tensor(cells, "cells")
    if cells.dim() == 3 and globals is None:
        _inputs.warn_if_turned(tuple(cells.shape), "cells", "globals, or a map of four axes, say that it is not")
    return _packed(cells, globals)


def _packed(cells: Tensor, globals: Optional[Tensor]) -> Tensor:
    if cells.dim() == 4:
        cells = cells.flatten(2).transpose(1, 2)
    elif cells.dim() != 3:
        raise BadInput(f"cells is {list(cells.shape)}: [images, cells, dimensions] is wanted, or a map [images, dimensions, "
                       "rows, columns]")
    if globals is not None:
        check_globals(globals, cells, "cells")
    flat = cells.flatten(1)
    return flat if globals is None else torch.cat([flat, globals.to(flat.dtype)], 1)


def _shape_of(grid: Union[int, Tuple[int, int]]) -> Tuple[int, int]:
    """(rows, columns); a number is that of both."""
    rows, columns = pair(grid, "grid", "rows, columns") if isinstance(grid, (tuple, list)) else (grid, grid)
    return whole(rows, "grid", 1), whole(columns, "grid", 1)


def unpack(embeddings: Tensor, grid: Union[int, Tuple[int, int]],
           globals: bool = True) -> Tuple[Tensor, Optional[Tensor]]:
    """What pack() took: cells [N, R, D] and globals [N, D], or None where there are none in it.

    >>> import torch, diml.pml
    >>> cells, vectors = diml.pml.unpack(torch.randn(2, 17 * 8), grid=(4, 4))
    >>> cells.shape, vectors.shape
    (torch.Size([2, 16, 8]), torch.Size([2, 8]))
    """
    check_tensor(embeddings, "embeddings")
    grid = _shape_of(grid)
    if embeddings.dim() != 2:
        raise BadInput(f"embeddings are {list(embeddings.shape)}: [images, width] is wanted, as pack() makes them")
    cells = grid[0] * grid[1]
    vectors = cells + int(globals)
    width = embeddings.shape[1]
    if width == 0 or width % vectors:
        other = width and width % (cells + int(not globals)) == 0
        raise BadInput(f"embeddings of width {width} are not {vectors} vectors (a {grid[0]}x{grid[1]} grid "
                       f"{'and' if globals else 'without'} a global vector): "
                       + (f"globals={not globals} fits them" if other else "name their grid"))
    split = embeddings.reshape(len(embeddings), vectors, width // vectors)
    return (split[:, :-1], split[:, -1]) if globals else (split, None)


def _wide(embeddings: Tensor) -> Tensor:
    return embeddings.float() if embeddings.dtype in (torch.float16, torch.bfloat16) else embeddings


class StructuralDistance(torch.nn.Module):
    """A distance of pytorch-metric-learning that compares images part by part: `loss(distance=StructuralDistance())`.

    Larger is closer (is_inverted is True), as with its CosineSimilarity: the mean of the cosine of the globals and the
    structural similarity of the cells, or one of them alone (measure="blended", "structural" or "global").
    grid: (rows, columns), or one number of both. globals: whether embeddings end with a global vector, as pack() makes them; without, the mean of
    an image's cells is its global vector. plan, lambda_, marginals and more: as for diml.torch.StructuralSimilarity.

    Every cell and every global vector is normalised on its own, whatever the length of the whole embedding: of one that the
    caller has normalised already, the distances are the same. normalize_embeddings=False promises vectors of length 1
    (get_norm() is then not 1, but the square root of their number).

    >>> import torch, diml.pml
    >>> embeddings = torch.randn(3, 17 * 8, generator=torch.Generator().manual_seed(0))
    >>> distance = diml.pml.StructuralDistance(grid=(4, 4))
    >>> matrix = distance(embeddings)
    >>> matrix.shape, bool(matrix.diag().min() > 0.9), distance.is_inverted
    (torch.Size([3, 3]), True, True)
    """

    def __init__(self, grid: Union[int, Tuple[int, int]] = (4, 4), *, globals: bool = True, measure: str = "blended",
                 normalize_embeddings: bool = True, p: float = 2, power: float = 1, collect_stats: bool = False,
                 plan: str = "constant", **how: Any) -> None:
        super().__init__()
        if measure not in ("blended", "structural", "global"):
            raise BadInput(f"unknown measure '{measure}': blended, structural or global")
        if p != 2:
            raise BadInput("p is 2: cells are compared by their cosine")
        self.grid, self.globals, self.measure = _shape_of(grid), globals, measure
        self.normalize_embeddings, self.p, self.power = normalize_embeddings, p, power
        self.is_inverted = True
        self.collect_stats = collect_stats
        self.similarity = StructuralSimilarity(plan, **how)
        self._record_these: List[str] = ["p", "power"]
        self._record_these_stats: List[str] = []
        if collect_stats:
            self._record_these_stats = ["initial_avg_query_norm", "initial_avg_ref_norm", "final_avg_query_norm",
                                        "final_avg_ref_norm"]
        self.reset_stats()

    def forward(self, query_emb: Tensor, ref_emb: Optional[Tensor] = None) -> Tensor:
        """The matrix [N, M] of embeddings [N, W] and [M, W]; without the second, [N, N]."""
        self.reset_stats()
        self.check_shapes(query_emb, ref_emb)
        query = self.maybe_normalize(query_emb)
        if ref_emb is None:
            ref_emb, ref = query_emb, query
        else:
            ref = self.maybe_normalize(ref_emb)
        self.set_default_stats(query_emb, ref_emb, query, ref)
        matrix = self.compute_mat(query, ref).to(query_emb.dtype)
        return matrix if self.power == 1 else matrix**self.power

    def compute_mat(self, query_emb: Tensor, ref_emb: Tensor) -> Tensor:
        """[N, M]: every query with every reference."""
        return self._measured(query_emb, ref_emb, "all")

    def pairwise_distance(self, query_emb: Tensor, ref_emb: Tensor) -> Tensor:
        """[N]: query i with reference i."""
        return self._measured(query_emb, ref_emb, "aligned")

    def _measured(self, query_emb: Tensor, ref_emb: Tensor, pairs: str) -> Tensor:
        (x, x_global), (y, y_global) = (unpack(_wide(e), self.grid, self.globals) for e in (query_emb, ref_emb))
        own, others = (mean_of(cells) if vector is None else vector
                       for cells, vector in ((x, x_global), (y, y_global)))
        if self.measure == "structural":
            return self.similarity(x, y, (own, others), pairs)
        own, others = unit(own), unit(others)
        cosine = own @ others.t() if pairs == "all" else (own * others).sum(1)
        if self.measure == "global":
            return cosine
        return (cosine + self.similarity(x, y, (own, others), pairs)) / 2

    def smallest_dist(self, *args: Any, **kwargs: Any) -> Any:
        """As torch.max: the closest has the largest value."""
        return torch.max(*args, **kwargs)

    def largest_dist(self, *args: Any, **kwargs: Any) -> Any:
        """As torch.min."""
        return torch.min(*args, **kwargs)

    def margin(self, x: Any, y: Any) -> Any:
        """How much farther x is than y: y - x."""
        return y - x

    def normalize(self, embeddings: Tensor, dim: int = 1) -> Tensor:
        """Every cell and every global to length 1; float16 and bfloat16 become float32. dim: 1, or 0 where each column is an
        embedding, as in the weights of classes that some losses have."""
        if dim == 0:
            return self.normalize(embeddings.t()).t()
        if dim not in (1, -1):
            raise BadInput(f"dim is {dim}: embeddings are [images, width] and are normalised along 1, or their transpose along 0")
        cells, vectors = unpack(_wide(embeddings), self.grid, self.globals)
        return _packed(unit(cells), None if vectors is None else unit(vectors))

    def maybe_normalize(self, embeddings: Tensor, dim: int = 1) -> Tensor:
        return self.normalize(embeddings, dim) if self.normalize_embeddings else embeddings

    def get_norm(self, embeddings: Tensor, dim: int = 1, **kwargs: Any) -> Tensor:
        """Lengths of whole embeddings."""
        return torch.norm(embeddings, p=self.p, dim=dim, **kwargs)

    def set_default_stats(self, query_emb: Tensor, ref_emb: Tensor, query_normalized: Tensor,
                          ref_normalized: Tensor) -> None:
        if not self.collect_stats:
            return
        with torch.no_grad():
            for name, embeddings in zip(self._record_these_stats, (query_emb, ref_emb, query_normalized, ref_normalized)):
                setattr(self, name, self.get_norm(embeddings).mean().item())

    def reset_stats(self) -> None:
        for name in self._record_these_stats:
            setattr(self, name, 0)

    def check_shapes(self, query_emb: Tensor, ref_emb: Optional[Tensor]) -> None:
        for embeddings in (query_emb, ref_emb):
            if embeddings is not None:
                unpack(embeddings, self.grid, self.globals)


class _Held:
    """A retriever, and which tensor as of when it was made of."""

    def __init__(self, reference: Tensor, device: torch.device, retriever: Any) -> None:
        self._reference = weakref.ref(reference, lambda _: self._forget())
        self._version, self._device = reference._version, device
        self.retriever = retriever

    def _forget(self) -> None:
        self.retriever = None

    def is_of(self, reference: Tensor, device: torch.device) -> bool:
        return (self._reference() is reference and not reference.is_inference() and reference._version == self._version
                and device == self._device)


class StructuralKNN:
    """Nearest neighbours for pytorch-metric-learning's testers, InferenceModel and AccuracyCalculator.

    The `rerank` nearest by the cosine of the global vectors are ordered by the mean of cosine and structural similarity
    (StructuralDistance's value); what is beyond them keeps its order and has its cosine. grid, globals: as for
    StructuralDistance; how: weights, lambda_, marginals and more, as for diml.Retriever.

    What is made of a reference is kept for the next call with the same tensor. torch counts the changes of a tensor; one
    whose memory is changed behind its back (through NumPy, or `.data`) needs a reset() between two calls.

    >>> import torch, diml.pml
    >>> embeddings = torch.randn(6, 17 * 8, generator=torch.Generator().manual_seed(0))
    >>> knn = diml.pml.StructuralKNN(rerank=5)
    >>> knn.train(embeddings)
    >>> values, indices = knn(embeddings[:3], 2)
    >>> indices[:, 0].tolist()
    [0, 1, 2]
    """

    def __init__(self, rerank: int = 100, grid: Union[int, Tuple[int, int]] = (4, 4), *, globals: bool = True,
                 **how: Any) -> None:
        self.rerank, self.grid, self.globals, self.how = whole(rerank, "rerank", 0), _shape_of(grid), globals, how
        self.reference: Optional[Tensor] = None
        self._held: Optional[_Held] = None

    def __call__(self, query: Tensor, k: int, reference: Optional[Tensor] = None,
                 ref_includes_query: bool = False, *,
                 embeddings_come_from_same_source: Optional[bool] = None) -> Tuple[Tensor, Tensor]:
        """(values float32 [N, k], the largest first; indices int64 [N, k]) on the query's device.

        query: [N, W]. reference: [M, W], or None for those of train() and add(). ref_includes_query: query i is
        reference i, which is not among its own neighbours; embeddings_come_from_same_source is its name in versions of
        pytorch-metric-learning before 2.0.
        """
        if embeddings_come_from_same_source is not None:
            ref_includes_query = embeddings_come_from_same_source
        reference = self.reference if reference is None else reference
        if reference is None:
            raise BadInput("there is no reference: pass one, or give embeddings to train() first")
        extra = int(ref_includes_query)
        check_tensor(query, "query")
        check_tensor(reference, "reference")
        if whole(k, "k") < 1 or k + extra > len(reference):
            raise BadInput(f"k is {k}: from 1 to {len(reference) - extra} neighbours are there")
        cells, vectors = unpack(query.detach(), self.grid, self.globals)
        values, indices = self._retriever(reference, query.device).search(
            cells, k + extra, globals=vectors, rerank=self.rerank + extra if self.rerank else 0)
        values = values.clone()
        head = min(self.rerank + extra, k + extra) if self.rerank else 0
        values[:, :head] /= sum(self.how.get("weights", (1.0, 1.0)))
        if not ref_includes_query:
            return values, indices
        # Without the query itself; of a row that does not list it (copies of one image), without the last.
        itself = indices == torch.arange(len(indices), device=indices.device).unsqueeze(1)
        itself[~itself.any(1), -1] = True
        return values[~itself].view(len(values), k), indices[~itself].view(len(indices), k)

    def _retriever(self, reference: Tensor, device: torch.device) -> Any:
        if self._held is not None and self._held.is_of(reference, device):
            return self._held.retriever
        self._held = None  # its memory goes before that of the next is taken
        cells, vectors = unpack(reference.detach().to(device), self.grid, self.globals)
        made = _search.Retriever(cells, vectors, layout="nrd", **self.how)
        if not reference.is_inference():  # torch does not count the changes of such tensors
            self._held = _Held(reference, device, made)
        return made

    def train(self, embeddings: Tensor) -> None:
        """Searches in these from now on, where a call names no reference."""
        self.reset()
        self.add(embeddings)

    def add(self, embeddings: Tensor) -> None:
        """And in these, numbered after those that are there."""
        embeddings = torch.as_tensor(embeddings).detach()
        unpack(embeddings, self.grid, self.globals)
        self.reference = embeddings if self.reference is None else torch.cat([self.reference, embeddings])
        self._held = None

    def save(self, filename: str) -> None:
        torch.save(self.reference, filename)

    def load(self, filename: str) -> None:
        self.reference = torch.load(filename, map_location="cpu")
        self._held = None

    def reset(self) -> None:
        self.reference, self._held = None, None
