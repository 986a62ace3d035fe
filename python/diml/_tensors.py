"""Grids in the memory of torch tensors, on the CPU or a GPU: matched where they lie, on the current stream."""

from __future__ import annotations

import warnings
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple, Union

import torch
from torch import Tensor

from . import _diml, _inputs
from ._errors import BadInput, Unsupported

# A float32 norm, computed in float32, of what was rounded to a type.
_UNIT = {torch.float32: 4e-7, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
_NAMES = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}
_VALUES_AT_ONCE = 1 << 26  # that a conversion holds in double precision


class Grids(NamedTuple):
    """Unit cells [N, R, D] (float32, float16 or bfloat16) and unit globals [N, D] (float32), contiguous, on one device."""

    cells: Tensor
    globals: Tensor

    def rows(self, begin: int, end: int) -> Grids:
        return Grids(self.cells[begin:end], self.globals[begin:end])

    def view(self) -> Any:
        """The addresses. They hold while this object does."""
        size, cells, dim = self.cells.shape
        return _diml.TensorGrids(self.cells.data_ptr(), _NAMES[self.cells.dtype], size, cells, dim,
                                 self.globals.data_ptr())


def unit(vectors: Tensor, name: str = "cells") -> Tensor:
    """Vectors [N, ..., D] of length 1, of the same type; zero vectors stay. The tensor itself where all are that already.

    Raises BadInput on NaN and infinity. On a GPU the host waits once, for one number.
    """
    flat = vectors.detach().contiguous().view(-1, vectors.shape[-1])
    if flat.dtype in _UNIT:
        norms = torch.linalg.vector_norm(flat, dim=-1, dtype=torch.float32)
        if bool(((norms - 1.0).abs() <= _UNIT[flat.dtype]).all()):
            return flat.view(vectors.shape)
    kind = flat.dtype if flat.dtype in _UNIT else torch.float32
    made = torch.empty(flat.shape, dtype=kind, device=flat.device)
    finite = torch.ones((), dtype=torch.bool, device=flat.device)
    at_once = max(1, _VALUES_AT_ONCE // flat.shape[-1])
    for first in range(0, flat.shape[0], at_once):
        some = flat[first:first + at_once].double()
        norms = torch.linalg.vector_norm(some, dim=-1, keepdim=True)
        finite &= torch.isfinite(norms).all()
        made[first:first + at_once] = some / torch.where(norms > 0.0, norms, torch.ones_like(norms))
    if not bool(finite):
        rows = flat.shape[0] // vectors.shape[0]  # of one image
        first_bad = int(made.isfinite().all(1).logical_not().nonzero()[0]) // rows
        raise BadInput(f"{name}[{first_bad}]: a grid holds NaN or infinity: embed it again")
    return made.view(vectors.shape)


def check_tensor(x: Any, name: str) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} is a {type(x).__name__}: a tensor is wanted (torch.from_numpy makes one of an array)")
    if x.device.type not in ("cpu", "cuda"):
        raise Unsupported(f"{name} is on {x.device}: tensors are matched on the CPU or on an NVIDIA GPU, move it there")


def check_cells(cells: Tensor, name: str, any_length: bool = False) -> None:
    """cells: [N, R, D] of a floating type, not empty; any_length: R is not limited."""
    check_tensor(cells, name)
    if cells.dim() != 3:
        hint = {2: "; one image is x[None]", 4: "; of a map [images, dimensions, rows, columns] it is "
                                                "x.flatten(2).transpose(1, 2)"}.get(cells.dim(), "")
        raise BadInput(f"{name} is {list(cells.shape)}: [images, cells, dimensions] is wanted{hint}")
    if not cells.dtype.is_floating_point:
        raise TypeError(f"{name} has the type {cells.dtype}: floating-point numbers are wanted, convert it with .float()")
    if 0 in cells.shape:
        raise BadInput(f"{name} is {list(cells.shape)}: at least one image of one cell is wanted")
    if (cells.shape[1] > 196 and not any_length) or cells.shape[2] > 4096:
        raise BadInput(f"{name} is {list(cells.shape)}: at most 196 cells of 4096 dimensions are supported, pool or "
                       "project them to fewer")


def check_globals(vectors: Tensor, cells: Tensor, name: str) -> None:
    check_tensor(vectors, f"the globals of {name}")
    wanted = (cells.shape[0], cells.shape[2])
    if tuple(vectors.shape) != wanted:
        raise BadInput(f"globals is {list(vectors.shape)} where {list(wanted)} is wanted, to go with {name}")
    if vectors.device != cells.device:
        raise BadInput(f"globals are on {vectors.device}, {name} on {cells.device}: move both to one device")


def grids(cells: Tensor, vectors: Optional[Tensor] = None, name: str = "cells", any_length: bool = False) -> Grids:
    """Unit grids of cells [N, R, D] and globals [N, D]; None: the means of the cells. Nothing is copied where cells are
    contiguous unit vectors of float32, float16 or bfloat16."""
    check_cells(cells, name, any_length)
    if vectors is None:
        # As the library does: of the cells as they came, summed in double precision.
        mean = torch.mean(cells.detach(), dim=1, dtype=torch.float64)
        return Grids(unit(cells, name), unit(mean.float(), name))
    check_globals(vectors, cells, name)
    return Grids(unit(cells, name), unit(vectors.float(), f"the globals of {name}"))


def whole_numbers(x: Any, name: str, device: torch.device) -> Tensor:
    """int64 on the device, of a tensor or of what NumPy takes: of any type of integers, strides and order of bytes."""
    if not isinstance(x, Tensor):
        numbers = _inputs.whole_numbers(x, name)
        x = torch.from_numpy(numbers if numbers.flags.writeable else numbers.copy())
    if x.numel() and (x.dtype.is_floating_point or x.dtype.is_complex or x.dtype == torch.bool):
        raise TypeError(f"{name} has the type {x.dtype}: integers are wanted")
    return x.to(device, torch.int64).contiguous()


def checked_pairs(pairs: Any, sources: int, targets: int, device: torch.device) -> Tensor:
    """int64 [P, 2] on the device, every index within its set. On a GPU the host waits once, for four numbers."""
    listed = whole_numbers(pairs, "pairs", device)
    if listed.numel() == 0:
        return torch.empty((0, 2), dtype=torch.int64, device=device)
    if listed.dim() != 2 or listed.shape[1] != 2:
        raise BadInput("pairs is [pairs, 2]: a (source, target) in each row")
    low = listed.amin(0)
    high = listed.amax(0)
    least, most, first, last = torch.cat([low, high]).tolist()
    if least < 0 or most < 0 or first >= sources or last >= targets:
        inside = (listed >= 0) & (listed < torch.tensor([sources, targets], device=device))
        k = int((~inside.all(1)).nonzero()[0])
        raise BadInput(f"pair {k} is ({int(listed[k, 0])}, {int(listed[k, 1])}), but there are {sources} sources and "
                       f"{targets} targets, counted from 0")
    return listed


def match(sources: Grids, targets: Grids, params: Any, *, pairs: Optional[Tensor] = None, plans: bool = False,
          backend: str = "auto", progress: Any = None) -> Tuple[Tensor, Optional[Tensor]]:
    """Matches on the tensors' device: float32 scores and, if asked for, plans.

    pairs: int64 [P, 2] on the device, already checked, gives [P] and [P, R_s, R_t]; None gives [N, M] and
    [N, M, R_s, R_t]. On a GPU everything is queued on the current stream and the host does not wait.
    """
    device = sources.cells.device
    if targets.cells.device != device:
        raise BadInput(f"the sources are on {device}, the targets on {targets.cells.device}: move both to one device")
    if sources.cells.shape[2] != targets.cells.shape[2]:
        raise BadInput(f"the sources have {sources.cells.shape[2]}-d cells, the targets {targets.cells.shape[2]}-d ones: "
                       "embed both with one model")
    if sources.cells.dtype != targets.cells.dtype:
        sources, targets = (Grids(g.cells.float(), g.globals) for g in (sources, targets))
    shape = [len(sources.cells), len(targets.cells)] if pairs is None else [pairs.shape[0]]
    on_gpu = device.type == "cuda"
    if on_gpu and (backend not in ("auto", "cuda") or not _diml.features()["cuda"]):
        return _through_the_host(sources, targets, params, pairs, plans, backend, progress)
    scores = torch.empty(shape, dtype=torch.float32, device=device)
    of_plans = shape + [sources.cells.shape[1], targets.cells.shape[1]]
    mass = torch.empty(of_plans, dtype=torch.float32, device=device) if plans else None
    count = scores.numel()
    if count == 0:
        return scores, mass
    places = _diml.Places(0 if pairs is None else pairs.data_ptr(), count, scores.data_ptr(),
                          0 if mass is None else mass.data_ptr())
    if on_gpu:
        # Memory that is freed is used again only by later work of the same stream.
        _diml.match_on_gpu(sources.view(), targets.view(), places, params, device.index,
                           torch.cuda.current_stream(device).cuda_stream)
        if progress is not None:
            progress(count, count)
    else:
        if device.type != "cpu":
            raise Unsupported(f"tensors on {device} are not matched: move them to the CPU or to an NVIDIA GPU")
        _diml.match_on_host(sources.view(), targets.view(), places, params, backend, progress)
    return scores, mass


def _through_the_host(sources: Grids, targets: Grids, params: Any, pairs: Optional[Tensor], plans: bool, backend: str,
                      progress: Any) -> Tuple[Tensor, Optional[Tensor]]:
    device = sources.cells.device
    if backend == "cuda":
        raise Unsupported("this build of diml has no CUDA: install the CUDA toolkit and build it again, or use "
                          "backend='auto'")
    if backend == "auto":
        warnings.warn("this build of diml has no CUDA: tensors are copied to the host to be matched", RuntimeWarning,
                      stacklevel=4)
    host = [Grids(g.cells.cpu(), g.globals.cpu()) for g in (sources, targets)]
    scores, mass = match(host[0], host[1], params, pairs=None if pairs is None else pairs.cpu(), plans=plans,
                         backend=backend, progress=progress)
    return scores.to(device), None if mass is None else mass.to(device)


# Order keys: 64 bits that sort as (score, then the lower id) do.
_IDS = (1 << 32) - 1
NOTHING = -(1 << 63)


def keys_of(scores: Tensor, ids: Tensor) -> Tensor:
    """int64 keys of float32 scores and ids from 0 to 2**32 - 1. The largest key is the best; ids of -1 give NOTHING."""
    bits = (scores + 0.0).view(torch.int32)  # + 0: a negative zero is a zero
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(torch.int64)
    keys = ordered * (1 << 32) + (_IDS - ids)
    return torch.where(ids < 0, torch.full_like(keys, NOTHING), keys)


def of_keys(keys: Tensor) -> Tuple[Tensor, Tensor]:
    """The float32 scores and int64 ids of keys; NOTHING gives -inf and -1."""
    ordered = (keys >> 32).to(torch.int32)
    scores = torch.where(ordered < 0, ordered ^ 0x7FFFFFFF, ordered).view(torch.float32)
    ids = _IDS - (keys & _IDS)
    nothing = keys == NOTHING
    return scores.masked_fill(nothing, float("-inf")), ids.masked_fill(nothing, -1)


Cells = Union[Tensor, Sequence[Tensor]]


class Collection:
    """Grids of a tensor [N, R, D], or of a list of [R_i, D] that may differ in R: one Grids for each R."""

    def __init__(self, cells: Cells, vectors: Union[Tensor, Sequence[Tensor], None] = None, name: str = "cells",
                 any_length: bool = False) -> None:
        first = cells[0] if isinstance(cells, (list, tuple)) and cells else cells
        if not isinstance(first, Tensor):
            raise BadInput(f"{name} is no tensor, and the other side is one on a GPU: move both to one device")
        if isinstance(vectors, (list, tuple)):
            vectors = torch.stack(list(vectors))
        if vectors is not None and not isinstance(vectors, Tensor):
            raise BadInput(f"the globals of {name} are no tensor: move both to one device")
        if isinstance(cells, Tensor):
            self.groups = [grids(cells, vectors, name, any_length)]
            self.members: List[Optional[Tensor]] = [None]  # all, in their order
            self.size = len(cells)
        else:
            self._take_list(cells, vectors, name, any_length)
        self.device = self.groups[0].cells.device
        self.dim = self.groups[0].cells.shape[2]

    @classmethod
    def of(cls, unit_grids: Grids) -> Collection:
        made = cls.__new__(cls)
        made.groups, made.members, made.size = [unit_grids], [None], len(unit_grids.cells)
        made.device, made.dim = unit_grids.cells.device, unit_grids.cells.shape[2]
        return made

    def _take_list(self, cells: Sequence[Tensor], vectors: Optional[Tensor], name: str, any_length: bool) -> None:
        by_count: dict = {}
        for i, one in enumerate(cells):
            if not isinstance(one, Tensor) or one.dim() != 2 or one.device != cells[0].device:
                raise BadInput(f"{name}[{i}] must be a tensor [cells, dimensions] on {cells[0].device}")
            if one.shape[1] != cells[0].shape[1]:
                raise BadInput(f"{name}[0] has {cells[0].shape[1]}-d cells, {name}[{i}] {one.shape[1]}-d ones: embed all "
                               "with one model")
            by_count.setdefault(one.shape[0], []).append(i)
        if vectors is not None and len(vectors) != len(cells):
            raise BadInput(f"there are {len(cells)} grids and {len(vectors)} globals: one each is wanted")
        self.size = len(cells)
        self.groups, self.members = [], []
        for places in by_count.values():
            index = torch.tensor(places, device=cells[0].device)
            own = None if vectors is None else vectors[index]
            self.groups.append(grids(torch.stack([cells[i] for i in places]), own, name, any_length))
            self.members.append(index)

    def globals(self) -> Tensor:
        """float32 [N, D]."""
        if self.members[0] is None:
            return self.groups[0].globals
        made = torch.empty((self.size, self.dim), dtype=torch.float32, device=self.device)
        for group, members in zip(self.groups, self.members):
            made[members] = group.globals
        return made

    def places(self) -> Tuple[Tensor, Tensor]:
        """The group of each grid, and its place in the group: int64 [N] each."""
        group = torch.zeros(self.size, dtype=torch.int64, device=self.device)
        place = torch.arange(self.size, device=self.device)
        for number, members in enumerate(self.members):
            if members is not None:
                group[members] = number
                place[members] = torch.arange(len(members), device=self.device)
        return group, place

    def one_shape(self, what: str) -> Grids:
        if len(self.groups) != 1:
            raise BadInput(f"{what} wants grids of one shape, and these have {len(self.groups)}: pool them to one number "
                           "of cells")
        return self.groups[0]
