"""Classification by structural neighbours, with the habits of scikit-learn."""

from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from . import _diml, _inputs, _settings
from ._errors import BadInput
from ._progress import reporting
from ._typing import ArrayLike, GridsLike, ProgressLike


class StructuralKNeighbors:
    """k nearest neighbours by cosine + structural similarity. scikit-learn is not needed, and takes it where it is there.

    n_neighbors: k. rerank: candidates by the cosine of the globals that are matched structurally; 0 for none.
    X: grids [N, R, D], or a list of [R_i, D]; y: labels [N], numbers or words. Globals are the means of the cells.
    layout: of maps of features, as for similarity(). Tensors on a GPU are compared there; their votes are counted here.

    >>> import numpy as np, diml
    >>> rng = np.random.default_rng(0)
    >>> kinds = rng.normal(size=(3, 6, 16))
    >>> y = np.repeat(["ant", "bee", "cat"], 8)
    >>> X = kinds[np.repeat(np.arange(3), 8)] + 0.5 * rng.normal(size=(24, 6, 16))
    >>> knn = diml.StructuralKNeighbors(n_neighbors=3).fit(X, y)
    >>> knn.predict(kinds).tolist()
    ['ant', 'bee', 'cat']
    >>> distances, ids = knn.kneighbors(kinds)
    >>> ids.shape, knn.score(X, y)
    ((3, 3), 1.0)
    """

    _estimator_type = "classifier"
    _names = ("n_neighbors", "rerank", "weights", "marginals", "lambda_", "tolerance", "max_iterations", "backend",
              "layout", "progress")

    def __init__(self, n_neighbors: int = 5, *, rerank: int = 100, weights: Tuple[float, float] = (1.0, 1.0),
                 marginals: str = "cross_correlation", lambda_: float = 0.05, tolerance: float = 1e-4,
                 max_iterations: int = 1000, backend: str = "auto", layout: str = "auto",
                 progress: ProgressLike = None) -> None:
        self.n_neighbors = n_neighbors
        self.rerank = rerank
        self.weights = weights
        self.marginals = marginals
        self.lambda_ = lambda_
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.backend = backend
        self.layout = layout
        self.progress = progress

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        """The settings of the constructor."""
        return {name: getattr(self, name) for name in self._names}

    def set_params(self, **params: Any) -> "StructuralKNeighbors":
        """Changes settings of the constructor."""
        for name, value in params.items():
            if name not in self._names:
                raise BadInput(f"StructuralKNeighbors has no parameter {name}: {', '.join(self._names)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = StructuralKNeighbors().get_params()
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value != usual[name]]
        return f"StructuralKNeighbors({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:  # asked for by scikit-learn 1.6 and later
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(estimator_type="classifier", target_tags=TargetTags(required=True), classifier_tags=ClassifierTags(),
                    input_tags=InputTags(two_d_array=False, three_d_array=True))

    def fit(self, X: GridsLike, y: ArrayLike) -> "StructuralKNeighbors":
        """Remembers the grids and their labels."""
        labels = np.asarray(_inputs.as_numpy(y))
        self._kind, self._kind_of_labels = _inputs.kind_of(X), _inputs.kind_of(y)
        X = _inputs.cells_of(X, self.layout, None, "X")[0]
        self._on_gpu = _inputs.on_gpu(X)
        grids: Any
        if self._on_gpu:
            from . import _tensor_search
            grids = _tensor_search.Gallery(X, None)
        else:
            grids = _inputs.grids(X)
        if labels.ndim != 1 or len(labels) != len(grids):
            raise BadInput(f"y is {list(labels.shape)}: one label for each of {len(grids)} grids is wanted")
        self.classes_, self._y = np.unique(labels, return_inverse=True)
        self._grids = grids
        self.n_samples_fit_ = len(grids)
        return self

    def kneighbors(self, X: GridsLike = None, n_neighbors: Optional[int] = None, return_distance: bool = True) -> Any:
        """(distances float32 [Q, k], ids int64 [Q, k]), the nearest first; or the ids alone. Of the kind of X.

        Without X, of each remembered grid among the others. A distance is the largest possible score minus the score:
        weights[0] * (1 - cosine) + weights[1] * (1 - structural), or 1 - cosine with rerank=0.
        """
        distances, ids = self._nearest(X, n_neighbors)
        made = self._kind if X is None else _inputs.kind_of(X)
        if made is not None:
            distances, ids = made(distances), made(ids)
        return (distances, ids) if return_distance else ids

    def _nearest(self, X: GridsLike, n_neighbors: Optional[int] = None) -> Tuple[Any, Any]:
        """kneighbors() of NumPy's kind, or of tensors where the remembered grids are on a GPU."""
        self._expect_fit()
        k = _settings.whole(self.n_neighbors if n_neighbors is None else n_neighbors, "n_neighbors")
        rerank = _settings.whole(self.rerank, "rerank", 0)
        own = X is None
        if not 1 <= k <= self.n_samples_fit_ - own:
            raise BadInput(f"n_neighbors is {k}: 1 to {self.n_samples_fit_ - own} of the remembered grids are possible")
        depth = max(rerank, k)
        how = (_settings.weights(self.weights), "structural", self.backend,
               _settings.params(self.marginals, self.lambda_, self.tolerance, self.max_iterations))
        best = sum(self.weights) if rerank > 0 else 1.0
        X = None if own else _inputs.cells_of(X, self.layout, None, "X")[0]
        if self._on_gpu:
            scores, ids = self._nearest_tensors(X, k, depth if rerank > 0 else 0, *how)
            return (best - scores).clamp_min(0), ids
        queries = self._grids if own else _inputs.grids(X)
        with reporting(self.progress, "kneighbors") as report:
            wanted = min(depth + own, self.n_samples_fit_)
            scores, ids = _diml.search(queries, self._grids, None, wanted, 0, wanted, *how, None)
            if own:
                scores, ids = _without_own(scores, ids)
            if rerank > 0:
                scores, ids = _diml.search(queries, self._grids, np.ascontiguousarray(ids), 0, 0, k, *how, report)
        distances = np.maximum(np.float32(best) - scores[:, :k], 0)
        return distances, np.ascontiguousarray(ids[:, :k])

    def _nearest_tensors(self, X: Any, k: int, depth: int, weights: Tuple[float, float], score: str, backend: str,
                         params: Any) -> Tuple[Any, Any]:
        from . import _tensor_search

        if X is not None and not _inputs.on_gpu(X):
            raise BadInput("the remembered grids and these are in different memory: move both to one device")
        with reporting(self.progress, "kneighbors") as report:
            return self._grids.search(X, None, k, depth, _tensor_search.How(weights, score, params, backend), report)

    def predict_proba(self, X: GridsLike = None) -> Any:
        """Shares of the neighbours' votes: float64 [Q, classes], in the order of classes_. Of the kind of X."""
        shares = self._shares(X)
        made = self._kind if X is None else _inputs.kind_of(X)
        return shares if made is None else made(shares)

    def _shares(self, X: GridsLike) -> Any:
        nearest = _inputs.as_numpy(self._nearest(X)[1])
        votes = self._y[nearest]
        counts = np.stack([(votes == c).sum(axis=1) for c in range(len(self.classes_))], axis=1)
        return counts / votes.shape[1]

    def predict(self, X: GridsLike = None) -> Any:
        """The most frequent label of the neighbours, [Q]; of equally frequent ones the first of classes_. Of the kind of the
        labels that fit() had."""
        labels = self._labels(X)
        return labels if self._kind_of_labels is None else self._kind_of_labels(labels)

    def _labels(self, X: GridsLike) -> Any:
        shares = self._shares(X)
        return self.classes_[shares.argmax(axis=1)]

    def score(self, X: GridsLike, y: ArrayLike, sample_weight: ArrayLike = None) -> float:
        """The share of right predictions; of each remembered grid among the others where X is None."""
        found, wanted = self._labels(X), np.asarray(_inputs.as_numpy(y))
        if wanted.shape != found.shape:
            raise BadInput(f"y is {list(wanted.shape)}: one label for each of {len(found)} grids is wanted")
        right = found == wanted
        return float(np.average(right, weights=sample_weight))

    def _expect_fit(self) -> None:
        if not hasattr(self, "_grids"):
            raise BadInput("StructuralKNeighbors remembers no grids yet: call fit(X, y) first")


def _without_own(scores: Any, ids: Any) -> Tuple[Any, Any]:
    """Row q without q, or without its last where q is not in it."""
    keep = ids != np.arange(len(ids))[:, None]
    keep[keep.all(axis=1), -1] = False
    shape = (len(ids), ids.shape[1] - 1)
    return scores[keep].reshape(shape), ids[keep].reshape(shape)


__all__: List[str] = ["StructuralKNeighbors"]
