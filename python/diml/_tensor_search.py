"""similarity(), rerank(), Retriever and evaluate() of tensors where they lie: on a GPU nothing of a grid's size leaves it.

The arithmetic is that of the compiled part, except that cosines are rounded from double precision; the order is the same:
the higher score first, then the lower id.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor

from . import _diml
from . import _tensors as T
from ._errors import BadInput

_NUMBERS_AT_ONCE = 1 << 25  # float64 products in memory
_PAIRS_AT_ONCE = 1 << 24    # of one launch


def _device_of(index: torch.device, other: torch.device) -> None:
    if index != other:
        raise BadInput(f"the one side is on {index}, the other on {other}: move both to one device")


def _maxsim(a: T.Grids, b: T.Grids, pairs: Tensor) -> Tensor:
    rows, columns, dim = a.cells.shape[1], b.cells.shape[1], a.cells.shape[2]
    at_once = max(1, _NUMBERS_AT_ONCE // ((rows + columns) * dim + rows * columns))
    parts = [torch.bmm(a.cells[some[:, 0]].double(), b.cells[some[:, 1]].double().transpose(1, 2)).amax(2).mean(1).float()
             for some in pairs.split(at_once)]
    return torch.cat(parts) if parts else torch.empty(0, device=pairs.device)


def _pair_scores(a: T.Collection, b: T.Collection, pairs: Tensor, score: str, params: Any, backend: str) -> Tensor:
    """float32 [P] of checked pairs [P, 2]."""
    def of(x: T.Grids, y: T.Grids, some: Tensor) -> Tensor:
        if score == "maxsim":
            return _maxsim(x, y, some)
        return T.match(x, y, params, pairs=some, backend=backend)[0]

    if len(a.groups) == 1 and len(b.groups) == 1:
        return of(a.groups[0], b.groups[0], pairs)
    scores = torch.empty(len(pairs), dtype=torch.float32, device=pairs.device)
    (a_group, a_place), (b_group, b_place) = a.places(), b.places()
    of_pair = a_group[pairs[:, 0]] * len(b.groups) + b_group[pairs[:, 1]]
    for number in range(len(a.groups) * len(b.groups)):
        own = (of_pair == number).nonzero().squeeze(1)
        if len(own):
            x, y = a.groups[number // len(b.groups)], b.groups[number % len(b.groups)]
            some = torch.stack([a_place[pairs[own, 0]], b_place[pairs[own, 1]]], 1)
            scores[own] = of(x, y, some)
    return scores


def _expect(a: T.Collection, b: T.Collection, score: str) -> None:
    if score not in ("structural", "maxsim"):
        raise BadInput(f"unknown score '{score}': structural or maxsim")
    _device_of(a.device, b.device)
    if a.dim != b.dim:
        raise BadInput(f"the one side has {a.dim}-d cells, the other {b.dim}-d ones: embed both with one model")


def similarity(A: Any, B: Any, pairs: Any, vectors: Tuple[Any, Any], score: str, params: Any, backend: str,
               progress: Any) -> Tensor:
    any_length = score == "maxsim"
    a = T.Collection(A, vectors[0], "A", any_length)
    b = a if B is A and vectors[1] is vectors[0] else T.Collection(B, vectors[1], "B", any_length)
    _expect(a, b, score)
    if pairs is not None:
        listed = T.checked_pairs(pairs, a.size, b.size, a.device)
        parts = [_pair_scores(a, b, some, score, params, backend) for some in _reporting(
            listed.split(_PAIRS_AT_ONCE), len(listed), progress)]
        return parts[0] if len(parts) == 1 else torch.cat(parts) if parts else torch.empty(0, device=a.device)
    scores = torch.empty((a.size, b.size), dtype=torch.float32, device=a.device)
    whole = score == "structural" and len(a.groups) == 1 and len(b.groups) == 1
    rows = max(1, _PAIRS_AT_ONCE // b.size)
    for first in _reporting(range(0, a.size, rows), scores.numel(), progress, rows * b.size):
        end = min(a.size, first + rows)
        if whole:
            scores[first:end] = T.match(a.groups[0].rows(first, end), b.groups[0], params, backend=backend)[0]
        else:
            some = torch.cartesian_prod(torch.arange(first, end, device=a.device),
                                        torch.arange(b.size, device=a.device)).view(-1, 2)
            scores[first:end] = _pair_scores(a, b, some, score, params, backend).view(end - first, -1)
    return scores


def _reporting(blocks: Sequence[Any], total: int, progress: Any, of_block: int = _PAIRS_AT_ONCE) -> Any:
    done = 0
    for block in blocks:
        yield block
        done = min(total, done + of_block)
        if progress is not None:
            progress(done, total)


def _cosines(queries: Tensor, gallery: Tensor, ids: Tensor) -> Tensor:
    """float32 [Q, C] of unit globals, with the candidates of each query; -1 gives 0."""
    parts = []
    at_once = max(1, _NUMBERS_AT_ONCE // max(1, ids.shape[1] * queries.shape[1]))
    for first in range(0, len(queries), at_once):
        some = gallery[ids[first:first + at_once].clamp_min(0)].double()
        parts.append(torch.bmm(some, queries[first:first + at_once].double().unsqueeze(2)).squeeze(2).float())
    return torch.cat(parts)


def _nearest(queries: Tensor, gallery: Tensor, depth: int, exclude: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
    """The `depth` nearest by the cosine of unit globals: float32 and int64 [Q, depth]. exclude: int64 [Q], left out."""
    columns = torch.arange(len(gallery), device=gallery.device)
    wide = gallery.double().t().contiguous()
    parts = []
    at_once = max(1, _NUMBERS_AT_ONCE // len(gallery))
    for first in range(0, len(queries), at_once):
        products = torch.matmul(queries[first:first + at_once].double(), wide).float()
        keys = T.keys_of(products, columns.expand_as(products))
        if exclude is not None:
            keys.scatter_(1, exclude[first:first + at_once].unsqueeze(1), T.NOTHING)
        parts.append(torch.topk(keys, depth, dim=1, sorted=True)[0])
    return T.of_keys(torch.cat(parts))


def _reordered(scored: Tensor, ids: Tensor) -> Tuple[Tensor, Tensor]:
    """Lists by their scores; ids of -1 go to the end."""
    return T.of_keys(torch.sort(T.keys_of(scored, ids), dim=1, descending=True)[0])


def _head_scores(queries: T.Collection, gallery: T.Collection, ids: Tensor, first: int, score: str, params: Any,
                 backend: str) -> Tensor:
    """float32 [Q, C]: of each query (counted from `first`) with its candidates; -1 gives 0."""
    real = ids >= 0
    rows = torch.arange(first, first + len(ids), device=ids.device).unsqueeze(1).expand_as(ids)
    scores = torch.zeros(ids.shape, dtype=torch.float32, device=ids.device)
    pairs = torch.stack([rows, ids], 2)
    if bool(real.all()):
        return _pair_scores(queries, gallery, pairs.view(-1, 2), score, params, backend).view(ids.shape)
    scores[real] = _pair_scores(queries, gallery, pairs[real], score, params, backend)
    return scores


def _padded(scores: Tensor, ids: Tensor, k: int) -> Tuple[Tensor, Tensor]:
    missing = k - ids.shape[1]
    if missing > 0:
        scores = torch.nn.functional.pad(scores, (0, missing), value=float("-inf"))
        ids = torch.nn.functional.pad(ids, (0, missing), value=-1)
    return scores[:, :k].contiguous(), ids[:, :k].contiguous()


class How:
    """What the calls of a search share."""

    def __init__(self, weights: Tuple[float, float], score: str, params: Any, backend: str) -> None:
        if min(weights) < 0 or max(weights) <= 0 or max(weights) > 1e6:
            raise BadInput("weights are 0 or more, at most 1e6, and not both 0")
        self.weights, self.score, self.params, self.backend = weights, score, params, backend

    def total(self, cosines: Tensor, structural: Tensor) -> Tensor:
        return cosines * self.weights[0] + structural * self.weights[1]


def rerank(queries: Any, gallery: Any, candidates: Any, k: int, vectors: Tuple[Any, Any], how: How,
           progress: Any) -> Tuple[Tensor, Tensor]:
    """candidates: [Q, C], -1 for none."""
    if k < 1:
        raise BadInput("k is 1 or more: how many images are found for each query")
    any_length = how.score == "maxsim"
    asked = T.Collection(queries, vectors[0], "query", any_length)
    there = T.Collection(gallery, vectors[1], "gallery", any_length)
    _expect(asked, there, how.score)
    ids = T.whole_numbers(candidates, "candidates", asked.device)
    if ids.dim() != 2 or len(ids) != asked.size:
        raise BadInput("candidates is [queries, depth]: the ids of a first search, -1 for none")
    if ids.numel():
        least, most = torch.stack([ids.amin(), ids.amax()]).tolist()
        if least < -1 or most >= there.size:
            raise BadInput(f"candidates name image {least if least < -1 else most}, but the gallery has {there.size}, "
                           "counted from 0")
    own, others = asked.globals(), there.globals()
    parts = []
    rows = max(1, _PAIRS_AT_ONCE // max(1, ids.shape[1]))
    for first in _reporting(range(0, asked.size, rows), ids.numel(), progress, rows * ids.shape[1]):
        some = ids[first:first + rows]
        structural = _head_scores(asked, there, some, first, how.score, how.params, how.backend)
        parts.append(_reordered(how.total(_cosines(own[first:first + rows], others, some), structural), some))
    return _padded(torch.cat([s for s, _ in parts]), torch.cat([i for _, i in parts]), k)


class Gallery:
    """What a Retriever holds: the grids stay on their device."""

    def __init__(self, cells: Any, vectors: Any, score: str = "structural") -> None:
        self.grids = T.Collection(cells, vectors, "gallery", score == "maxsim")
        self._globals = self.grids.globals()

    def __len__(self) -> int:
        return self.grids.size

    def search(self, queries: Any, vectors: Any, k: int, depth: int, how: How, progress: Any) -> Tuple[Tensor, Tensor]:
        """The k best of each query, `depth` of them re-ranked; the rest have their cosine. queries: None for each grid that
        is held, among the others."""
        among_others = queries is None
        asked = self.grids if among_others else T.Collection(queries, vectors, "queries", how.score == "maxsim")
        _expect(asked, self.grids, how.score)
        listed = min(max(k, depth), len(self) - among_others)
        head = min(depth, listed)
        own = asked.globals()
        parts = []
        rows = max(1, _PAIRS_AT_ONCE // listed)
        for first in _reporting(range(0, asked.size, rows), asked.size * head, progress, rows * head):
            some = own[first:first + rows]
            itself = torch.arange(first, first + len(some), device=some.device) if among_others else None
            cosines, ids = _nearest(some, self._globals, listed, itself)
            structural = _head_scores(asked, self.grids, ids[:, :head], first, how.score, how.params, how.backend)
            scores, order = _reordered(how.total(cosines[:, :head], structural), ids[:, :head])
            parts.append((torch.cat([scores, cosines[:, head:]], 1), torch.cat([order, ids[:, head:]], 1)))
        return _padded(torch.cat([s for s, _ in parts]), torch.cat([i for _, i in parts]), k)


def _relevant(labels: np.ndarray) -> np.ndarray:
    """How many others share the label of each image."""
    _, place, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return counts[place].astype(np.int64) - 1


def evaluate(cells: Any, vectors: Any, labels: np.ndarray, depths: List[int], how: How, progress: Any) -> Dict[str, Any]:
    """As the compiled evaluate(), of [N] int64 labels. What leaves the device is a bit for each place of each list."""
    everything = T.Collection(cells, vectors)
    set_ = everything.one_shape("evaluate")
    if len(labels) != everything.size:
        raise BadInput(f"there are {everything.size} grids and {len(labels)} labels: one label a grid is needed")
    if not depths:
        raise BadInput("evaluation needs at least one re-ranking depth, such as 0")
    known = np.flatnonzero(labels != -1)
    if len(known) < 2:
        raise BadInput("evaluation needs at least two images with labels")
    own = labels[known]
    relevant = _relevant(own)
    if relevant.max() == 0:
        raise BadInput("every image is alone in its class, so there is nothing to find: check the labels")
    counters = [_diml.Counter() for _ in depths]
    others = len(known) - 1
    listed = min(max([int(relevant.max()) + 1, counters[0].deepest] + depths), others)
    head = min(max(depths), listed)
    if len(known) < everything.size:
        place = torch.from_numpy(known).to(everything.device)
        set_ = T.Grids(set_.cells[place], set_.globals[place])
    there = T.Collection.of(set_)
    classes = torch.from_numpy(own).to(everything.device)
    rows = max(1, min(8192, (1 << 22) // listed, _PAIRS_AT_ONCE // max(1, head)))
    for first in range(0, len(known), rows):
        itself = torch.arange(first, min(first + rows, len(known)), device=everything.device)
        cosines, ids = _nearest(set_.globals[first:first + rows], set_.globals, listed, itself)
        structural = _head_scores(there, there, ids[:, :head], first, how.score, how.params, how.backend)
        for depth, counter in zip(depths, counters):
            deep = min(depth, head)
            _, order = _reordered(how.total(cosines[:, :deep], structural[:, :deep]), ids[:, :deep])
            ranked = torch.cat([order, ids[:, deep:]], 1)
            hits = (classes[ranked] == classes[first:first + rows].unsqueeze(1)).cpu().numpy()
            counter.add(own[first:first + rows], hits, relevant[first:first + rows])
        if progress is not None:
            progress(min(first + rows, len(known)), len(known))
    results = []
    for depth, counter in zip(depths, counters):
        row, of_classes, left_out = counter.result()
        row["rerank"] = depth
        results.append((row, of_classes))
    return {"results": results, "queries": results[0][0]["queries"], "left_out": left_out,
            "unlabelled": int(len(labels) - len(known)), "gallery": len(known)}
