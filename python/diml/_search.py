"""Many pairs: similarity(), rerank(), Retriever and evaluate()."""

from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _diml, _errors, _inputs, _settings
from ._progress import reporting
from ._typing import ArrayLike, GridsLike, ProgressLike


def _both(a: GridsLike, b: GridsLike, globals: Tuple[ArrayLike, ArrayLike], same: bool,
          score: str) -> Tuple[_diml.Grids, _diml.Grids]:
    """Grids of two sides; one and the same where the caller gave one."""
    first = _inputs.grids(a, globals[0], score == "maxsim")
    return first, first if same else _inputs.grids(b, globals[1], score == "maxsim")


def similarity(A: GridsLike, B: GridsLike, pairs: ArrayLike = None, *,
               globals: Tuple[ArrayLike, ArrayLike] = (None, None), score: str = "structural",
               marginals: str = "cross_correlation", lambda_: float = 0.05, tolerance: float = 1e-4,
               max_iterations: int = 1000, backend: str = "auto", layout: str = "auto",
               progress: ProgressLike = None) -> Any:
    """Structural similarities of many pairs.

    A, B: [N, R, D] and [M, R', D], or lists of arrays [R_i, D] with different R_i. globals: [N, D] and [M, D], or None.
    pairs: None for all, which gives float32 [N, M]; or integers [P, 2], (row of A, row of B), which gives float32 [P].
    score: "structural", or "maxsim": the mean over A's cells of the largest cosine to a cell of B, of any number of cells.
    layout: of maps of features: "nchw" for [N, D, rows, columns], "nhwc" for [N, rows, columns, D]; "auto" goes by the
    shape, and warns of what it takes for granted; "nrd" is that of cells.
    backend: "auto", "cpu", "cuda", "reference" or "exact". progress: True for a bar, or a function of (done, total).

    >>> import numpy as np, diml
    >>> A = np.random.default_rng(0).normal(size=(3, 4, 8))
    >>> diml.similarity(A, A).shape
    (3, 3)
    >>> diml.similarity(A, A, [(0, 1), (2, 2)]).shape
    (2,)
    """
    params = _settings.params(marginals, lambda_, tolerance, max_iterations)
    globals = _settings.both(globals)
    of_given, same = _inputs.kind_of(A, B), A is B and globals[0] is globals[1]
    a = _inputs.cells_of(A, layout, globals[0], "A")[0]
    b = a if same else _inputs.cells_of(B, layout, globals[1], "B")[0]
    if _inputs.on_gpu(a) or _inputs.on_gpu(b):
        from . import _tensor_search
        vectors = (_inputs.adopted(globals[0]), _inputs.adopted(globals[1]))
        with reporting(progress, "similarity") as report:
            found = _tensor_search.similarity(a, b, pairs, vectors, score, params, backend, report)
        return found if of_given is None else of_given(found)
    listed = None if pairs is None else _inputs.listed_pairs(pairs)
    with reporting(progress, "similarity") as report:
        found = _diml.similarity(*_both(a, b, globals, same, score), listed, score, backend, params, report)
    return found if of_given is None else of_given(found)


def rerank(query: GridsLike, gallery: GridsLike, candidates: ArrayLike, k: int = 10, *,
           globals: Tuple[ArrayLike, ArrayLike] = (None, None), weights: Tuple[float, float] = (1.0, 1.0),
           score: str = "structural", marginals: str = "cross_correlation", lambda_: float = 0.05,
           tolerance: float = 1e-4, max_iterations: int = 1000, backend: str = "auto", layout: str = "auto",
           progress: ProgressLike = None) -> Tuple[Any, Any]:
    """Orders candidates of another search by cosine + structural similarity.

    query: [Q, R, D] or a list of [R_i, D] with candidates [Q, C], or one query [R, D] with candidates [C].
    gallery: [N, R', D], or a list of [R_i, D]. candidates: rows of the gallery, -1 for none, as FAISS returns them.
    weights: of the cosine and of the score. score, layout: as for similarity(); with "maxsim" the tokens of late
    interaction are ordered. progress: True for a bar, or a function of (done, total).
    Returns (scores float32 [Q, k], ids int64 [Q, k]), the best first; [k] for one query. A shorter list ends with ids of
    -1 and scores of -inf.

    >>> import numpy as np, diml
    >>> G = np.random.default_rng(0).normal(size=(5, 4, 8))
    >>> scores, ids = diml.rerank(G[2], G, [0, 1, 2], k=2)
    >>> int(ids[0])
    2
    """
    k, globals, of_each = _settings.whole(k, "k", 1), _settings.both(globals), _settings.weights(weights)
    params = _settings.params(marginals, lambda_, tolerance, max_iterations)
    ids = _inputs.adopted(candidates)
    if not _inputs.is_tensor(ids):
        ids = _inputs.whole_numbers(ids, "candidates")
    one, same = ids.ndim == 1, query is gallery and globals[0] is globals[1]
    queries = [query] if one else _inputs.cells_of(query, layout, globals[0], "query")[0]
    vectors = [globals[0]] if one and globals[0] is not None else globals[0]
    there = queries if same and not one else _inputs.cells_of(gallery, layout, globals[1], "gallery")[0]
    of_given = _inputs.kind_of(query)
    with reporting(progress, "rerank") as report:
        if _inputs.on_gpu(queries) or _inputs.on_gpu(there):
            from . import _tensor_search
            scores, found = _tensor_search.rerank(
                queries, there, ids[None] if one else ids, k, (_inputs.adopted(vectors), _inputs.adopted(globals[1])),
                _tensor_search.How(of_each, score, params, backend), report)
        else:
            ids = _inputs.whole_numbers(ids, "candidates")
            scores, found = _diml.search(*_both(queries, there, (vectors, globals[1]), same and not one, score),
                                         ids[None] if one else ids, 0, 0, k, of_each, score, backend, params, report)
    if one:
        scores, found = scores[0], found[0]
    return (scores, found) if of_given is None else (of_given(scores), of_given(found))


class Retriever:
    """Search in grids in memory, with FAISS's shapes and order.

    gallery: [N, R, D] or a list of [R_i, D]; globals: [N, D] or None. score, layout: as for similarity(); queries lie as
    the gallery does.

    >>> import numpy as np, diml
    >>> G = np.random.default_rng(0).normal(size=(20, 4, 8))
    >>> scores, ids = diml.Retriever(G).search(G[:3], k=5)
    >>> ids.shape, ids[:, 0].tolist()
    ((3, 5), [0, 1, 2])
    """

    def __init__(self, gallery: GridsLike, globals: ArrayLike = None, *, weights: Tuple[float, float] = (1.0, 1.0),
                 score: str = "structural", marginals: str = "cross_correlation", lambda_: float = 0.05,
                 tolerance: float = 1e-4, max_iterations: int = 1000, backend: str = "auto",
                 layout: str = "auto") -> None:
        self._how = (_settings.weights(weights), score, backend,
                     _settings.params(marginals, lambda_, tolerance, max_iterations))
        gallery, self._layout = _inputs.cells_of(gallery, layout, globals, "gallery")
        self._on_gpu = _inputs.on_gpu(gallery)
        self._gallery: Any
        if self._on_gpu:
            from . import _tensor_search
            self._gallery = _tensor_search.Gallery(gallery, _inputs.adopted(globals), score)
        else:
            self._gallery = _inputs.grids(gallery, globals, score == "maxsim")

    def __len__(self) -> int:
        return len(self._gallery)

    def search(self, queries: GridsLike, k: int = 10, *, globals: ArrayLike = None, rerank: int = 100,
               progress: ProgressLike = None) -> Tuple[Any, Any]:
        """The k best of each query: (scores float32 [Q, k], ids int64 [Q, k]).

        The `rerank` nearest by the cosine of the global vectors are ordered by cosine + structural similarity; what is
        beyond them keeps its order and has its cosine as score.
        """
        k, rerank = _settings.whole(k, "k", 1), _settings.whole(rerank, "rerank", 0)
        of_given = _inputs.kind_of(queries)
        queries = _inputs.cells_of(queries, self._layout, globals, "queries")[0]
        if self._on_gpu != _inputs.on_gpu(queries):
            raise _errors.BadInput("the gallery and the queries are in different memory: move both to one device")
        with reporting(progress, "search") as report:
            if self._on_gpu:
                from . import _tensor_search
                weights, score, backend, params = self._how
                scores, ids = self._gallery.search(queries, _inputs.adopted(globals), k, rerank,
                                                   _tensor_search.How(weights, score, params, backend), report)
            else:
                asked = _inputs.grids(queries, globals, self._how[1] == "maxsim")
                scores, ids = _diml.search(asked, self._gallery, None, max(k, rerank), rerank, k, *self._how, report)
        return (scores, ids) if of_given is None else (of_given(scores), of_given(ids))


def _numbered(labels: ArrayLike) -> "Tuple[np.ndarray[Any, Any], Optional[List[str]]]":
    """int64 labels, and the words that they number where words were given; -1 is no label."""
    if hasattr(labels, "isna") and hasattr(labels, "astype"):  # pandas: whole numbers with gaps would become floats
        labels = labels.astype(object)
    given = np.asarray(_inputs.as_numpy(labels))
    if given.dtype.kind in "US" and isinstance(labels, (list, tuple)):
        given = np.array(labels, dtype=object)  # NumPy makes words of what stands beside words: "nan", "1"
    if given.dtype.kind in "OT":  # what pandas keeps words in, and whole numbers with gaps
        given = _of_objects(given)
    if given.dtype.kind not in "US":
        return _inputs.whole_numbers(given, "labels"), None
    words = given.astype(str)
    names = sorted(set(words.ravel().tolist()) - {""})
    place = {"": -1, **{name: i for i, name in enumerate(names)}}
    numbers = np.array([place[word] for word in words.ravel().tolist()], np.int64)
    return numbers.reshape(words.shape), names


def _of_objects(labels: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """Words or integers of Python objects; missing ones (None, NaN, pandas.NA) have no label."""
    given = labels.ravel().tolist()
    missing = [x is None or type(x).__name__ in ("NAType", "NaTType") or (isinstance(x, float) and x != x) for x in given]
    kinds = {str if isinstance(x, str) else int if isinstance(x, (int, np.integer)) and not isinstance(x, bool) else type(x)
             for x, gone in zip(given, missing) if not gone}
    if not kinds <= {str} and not kinds <= {int}:
        raise TypeError(f"labels holds {', '.join(sorted(kind.__name__ for kind in kinds))}: words or integers are wanted, "
                        "of one kind")
    none: Union[str, int] = -1 if kinds == {int} else ""
    found = [none if gone else x for x, gone in zip(given, missing)]
    return np.array(found, np.int64 if kinds == {int} else str).reshape(labels.shape)


class Evaluation(Dict[str, List[Any]]):
    """A table as columns, one row for each depth of re-ranking: pandas.DataFrame(evaluation) takes it.

    Attributes: queries, left_out, unlabelled, gallery (counts), and per_class: {rerank: {label: {metric: value}}}.
    """

    queries: int
    left_out: int
    unlabelled: int
    gallery: int
    per_class: Dict[int, Dict[Any, Dict[str, float]]]


def evaluate(cells: GridsLike, globals: ArrayLike = None, labels: ArrayLike = None,
             rerank: Union[int, str, Sequence[Union[int, str]]] = (0, 100), *, weights: Tuple[float, float] = (1.0, 1.0),
             marginals: str = "cross_correlation", lambda_: float = 0.05, tolerance: float = 1e-4,
             max_iterations: int = 1000, backend: str = "auto", layout: str = "auto",
             progress: ProgressLike = None) -> Evaluation:
    """How well each image finds the others of its class.

    cells: [N, R, D], or maps of features (layout: see similarity()); globals: [N, D] or None; labels: [N], integers (-1:
    unlabelled) or words ("", or what pandas calls missing: unlabelled).
    rerank: depths; 0 is the plain cosine, "all" the whole set. Returns an Evaluation, in percent: p_at_1, r_precision,
    map_at_r, recall_at_1 and so on; those that end in _paper count the query itself, as the paper's tables do.

    >>> import numpy as np, diml
    >>> cells = np.random.default_rng(0).normal(size=(6, 4, 8))
    >>> r = diml.evaluate(cells, None, [0, 0, 0, 1, 1, 1], rerank=(0, 5))
    >>> r["rerank"], r.queries
    ([0, 5], 6)
    """
    if labels is None:
        taken = globals is not None and np.ndim(_inputs.as_numpy(globals)) == 1
        raise TypeError("evaluate needs labels: one for each image" +
                        ("; the second argument is globals: evaluate(cells, labels=labels)" if taken else ""))
    values, names = _numbered(labels)
    if values.ndim != 1:
        raise _errors.BadInput("labels is [images]: one label for each image")
    depths, of_each = _settings.depths(rerank, len(cells)), _settings.weights(weights)
    params = _settings.params(marginals, lambda_, tolerance, max_iterations)
    cells = _inputs.cells_of(cells, layout, globals, "cells")[0]
    with reporting(progress, "evaluate") as report:
        if _inputs.on_gpu(cells):
            from . import _tensor_search
            how = _tensor_search.How(of_each, "structural", params, backend)
            found = _tensor_search.evaluate(cells, _inputs.adopted(globals), values, depths, how, report)
        else:
            numbers = [int(value) for value in values]
            found = _diml.evaluate(_inputs.grids(cells, globals), numbers, depths, of_each, backend, params, report)
    rows = [row for row, _ in found["results"]]
    columns = ["rerank"] + [name for name in rows[0] if name not in ("rerank", "queries")]
    table = Evaluation({name: [row[name] for row in rows] for name in columns})
    for name in ("queries", "left_out", "unlabelled", "gallery"):
        setattr(table, name, found[name])
    table.per_class = {
        row["rerank"]: {names[label] if names else label: metrics for label, metrics in classes.items()}
        for row, classes in found["results"]
    }
    return table
