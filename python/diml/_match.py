"""One pair in full: match() and what it returns."""

import hashlib
import os
import re
from typing import Any, Callable, Optional, Tuple, Union

import numpy as np

from . import _diml, _inputs, _settings
from ._errors import BadInput
from ._typing import ArrayLike, PathLike

Shape = Tuple[int, int]
_ENDINGS = ("html", "svg", "png", "pdf", "json")


class Match:
    """Two images, matched part by part. Rows are cells of the source, columns of the target.

    score       structural similarity: the sum of plan * similarity
    distance    structural distance
    plan        float64 [R_s, R_t], sums to 1
    similarity  float64 [R_s, R_t], cosines of the cells
    marginals   (float64 [R_s], float64 [R_t]): the weights of the cells
    gap         how far the plan's cost can be from the least cost; computed when asked for
    iterations  of Sinkhorn's algorithm; converged: whether they met the tolerance

    Arrays are of the kind of the cells: tensors on the device of a tensor.

    >>> import numpy as np, diml
    >>> m = diml.match(np.eye(4), np.eye(4)[::-1])
    >>> m.plan.argmax(axis=1).tolist(), round(m.score, 3), m.gap < 0.01, m.converged
    ([3, 2, 1, 0], 1.0, True, True)
    >>> m
    <diml.Match score=1.0000 cells=4x4>
    """

    # Of a gallery's pictures and of grids alone; what most calls do not give costs them nothing.
    _kind: Optional[Callable[[Any], Any]] = None

    def __init__(self, found: _diml.PairMatch, source_shape: Optional[Shape], target_shape: Optional[Shape],
                 pictures: Tuple[Any, Any] = (None, None), names: Tuple[str, str] = ("source", "target")) -> None:
        self._found = found
        self._given = (source_shape, target_shape)
        self._pictures = pictures
        self._names = names

    @property
    def score(self) -> float:
        return self._found.score

    @property
    def distance(self) -> float:
        return self._found.distance

    @property
    def plan(self) -> Any:
        return self._like_given(self._found.plan)

    @property
    def similarity(self) -> Any:
        return self._like_given(self._found.similarity)

    @property
    def marginals(self) -> Tuple[Any, Any]:
        source, target = self._found.marginals
        return self._like_given(source), self._like_given(target)

    def _like_given(self, array: Any) -> Any:
        return array if self._kind is None else self._kind(array)

    @property
    def gap(self) -> float:
        return self._found.gap

    @property
    def iterations(self) -> int:
        return self._found.iterations

    @property
    def converged(self) -> bool:
        return self._found.converged

    @property
    def shapes(self) -> Tuple[Shape, Shape]:
        """((rows, cols) of the source, of the target): as given, else squares or the nearest rectangles."""
        rows, cols = self._found.shape
        source, target = self._given
        return source or _inputs.shape_of_cells(rows), target or _inputs.shape_of_cells(cols)

    def explain(self, path: PathLike, images: Optional[Tuple[Any, Any]] = None,
                names: Optional[Tuple[str, str]] = None) -> Union[str, bytes]:
        """Writes why the two match to `path`, which ends in .html, .svg, .png, .pdf or .json.

        images: two uint8 arrays [height, width, 3] or paths of files; without them the grids alone are drawn, or the
        pictures of a gallery. Returns what was written: str, or bytes of a .png or .pdf.

        >>> import numpy as np, diml, os, tempfile
        >>> m = diml.match(np.eye(4), np.eye(4)[::-1])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     figure = m.explain(os.path.join(folder, "why.svg"))
        >>> "</svg>" in figure
        True
        """
        path = os.fspath(path)
        images = None if images is None else _settings.pair(images, "images", "of the source, of the target")
        if names is not None:
            first, second = _settings.pair(names, "names", "of the source, of the target")
            names = _settings.word(first, "names[0]"), _settings.word(second, "names[1]")
        ending = os.path.splitext(path)[1].lower().lstrip(".")
        if ending not in _ENDINGS:
            raise BadInput(f"{path}: explain writes .html, .svg, .png, .pdf or .json")
        figure = self._figure(ending, images, names)
        with open(path, "wb") as file:
            file.write(figure if isinstance(figure, bytes) else figure.encode())
        return figure

    def _figure(self, ending: str, images: Optional[Tuple[Any, Any]] = None,
                names: Optional[Tuple[str, str]] = None) -> Union[str, bytes]:
        shapes = self.shapes
        source, target = (_inputs.picture(i, s) for i, s in zip(images or self._pictures, shapes))
        figure = _diml.figure(self._found, ending, *shapes, source, target, tuple(names or self._names))
        return figure if ending in ("png", "pdf") else figure.decode()

    def _repr_html_(self) -> str:
        if _diml.features()["drawing"]:
            figure = self._figure("svg")
            assert isinstance(figure, str)
            return _inline(figure[figure.index("<svg"):])  # a notebook's page has its own first line
        return f"<p>structural similarity {self.score:.4f}</p>"

    def __repr__(self) -> str:
        rows, cols = self._found.shape
        return f"<diml.Match score={self.score:.4f} cells={rows}x{cols}>"


def match(a: ArrayLike, b: ArrayLike, *, globals: Tuple[ArrayLike, ArrayLike] = (None, None),
          marginals: str = "cross_correlation", lambda_: float = 0.05, tolerance: float = 1e-4,
          max_iterations: int = 1000, backend: str = "auto") -> Match:
    """Matches two images part by part.

    a, b: cells of the source [R_s, D] and of the target [R_t, D], or [rows, cols, D]; any scale, any type of number.
    globals: their global vectors, [D] each; None is the mean of the cells.
    marginals: "cross_correlation" (parts that the other image lacks count little) or "uniform".
    lambda_: of the entropic regularisation. tolerance, max_iterations: when Sinkhorn's iterations end.
    backend: "auto", "cpu", "reference" or "exact". Returns a Match: .score, .plan [R_s, R_t], .similarity [R_s, R_t],
    .marginals, .gap and .explain("why.html").

    >>> import numpy as np, diml
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(6, 8)), rng.normal(size=(4, 8))
    >>> m = diml.match(a, b)
    >>> m.plan.shape, bool(abs(m.plan.sum() - 1) < 1e-5)
    ((6, 4), True)
    >>> bool(abs((m.plan * m.similarity).sum() - m.score) < 1e-6)
    True
    """
    of_source, of_target = _settings.both(globals)
    source, source_shape = _inputs.one_grid(a, of_source, "a")
    target, target_shape = _inputs.one_grid(b, of_target, "b")
    try:
        pair = _diml.match_pair(source, target, backend, marginals, lambda_, tolerance, max_iterations)
    except TypeError:
        _settings.params(marginals, lambda_, tolerance, max_iterations)  # says which one is wrong
        _settings.word(backend, "backend")
        raise
    found = Match(pair, source_shape, target_shape)
    if type(a) is not np.ndarray or type(b) is not np.ndarray:
        found._kind = _inputs.kind_of(a, b)
    return found


def _inline(svg: str) -> str:
    """A figure that shares its page with others: cairo counts each figure's parts from 0, so names get a prefix."""
    prefix = "diml" + hashlib.sha256(svg.encode()).hexdigest()[:12] + "-"
    names = set(re.findall(r'\bid="([^"]+)"', svg))

    def renamed(found: "re.Match[str]") -> str:
        return found[1] + prefix + found[2] + found[3] if found[2] in names else found[0]

    return re.sub(r"""(\bid="|\bhref="#|\burl\(#)([^")]+)("|\))""", renamed, svg)
