"""Galleries: collections of photos on disk that are searched."""

import json
import os
from types import TracebackType
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Type, Union

import numpy as np

from . import _diml, _inputs, _settings
from ._embedder import Embeddings, is_path, network_settings
from ._errors import BadInput, Conflict, NotFound
from ._match import Match
from ._progress import reporting
from ._typing import ArrayLike, GridsLike, PathLike, ProgressLike, Where

Hit = Dict[str, Any]
Item = Dict[str, Any]


class Gallery:
    """A collection of photos on disk, with their grids, labels and metadata: what `diml index` makes.

    path: the gallery's folder, or postgres://USER@HOST:PORT/DATABASE/GALLERY. model: a file, or the name of fetched weights, to
    create a gallery of photos; to open one it is only needed where the model's file was moved. shape: (R, D), to create a gallery of
    your own grids.
    mode: "a" opens the gallery, or creates it where there is none; "r" opens it for reading; "x" creates a new one.
    grid, pooling, projection, preprocessing: of a new gallery (see Embedder). type: of its cells, "float16" or "float32".
    device, network, precision, batch: how the network runs (see Embedder). first_stage: "exact", "cuda", "index" (after
    build_index()) or, in PostgreSQL, "pgvector". backend: of matching, "auto", "cpu" or "cuda". The number of threads is that of set_threads() when it is opened.

    What is added outlives the process; other processes may read and write at the same time. Safe from several threads.

    >>> import diml, os, tempfile
    >>> import numpy as np
    >>> folder = tempfile.TemporaryDirectory()
    >>> cells = np.random.default_rng(0).normal(size=(3, 16, 32))
    >>> with diml.Gallery(os.path.join(folder.name, "photos.gallery"), shape=(16, 32)) as g:
    ...     done = g.add(["a.jpg", "b.jpg", "c.jpg"], labels=["pug", "cat", "cat"], cells=cells)
    ...     [(hit["path"], hit["label"]) for hit in g.search(cells[1], k=2, where="label=cat")]
    [('b.jpg', 'cat'), ('c.jpg', 'cat')]
    >>> folder.cleanup()
    """

    def __init__(self, path: PathLike, model: Optional[PathLike] = None, *, mode: str = "a",
                 shape: Optional[Tuple[int, int]] = None, type: str = "float16", grid: int = 4, pooling: str = "align",
                 projection: bool = True, preprocessing: Optional[Mapping[str, Any]] = None, device: str = "cpu",
                 network: str = "auto", precision: str = "float32", batch: Optional[int] = None,
                 first_stage: str = "exact", backend: str = "auto") -> None:
        if mode not in ("a", "r", "x"):
            raise BadInput("mode is 'a' (open or create), 'r' (read) or 'x' (create)")
        self._path = os.fspath(path)
        self._backend = backend
        self._open: Optional[_diml.Gallery] = None
        self._process = os.getpid()
        running = dict(device=device, network=network, precision=precision, batch=batch)
        self._shown = _diml.shown_gallery(self._path)  # an address without its password
        there = mode != "x" and _diml.gallery_exists(self._path)
        if mode == "r" or (mode == "a" and there):
            self._open = _diml.open_gallery(self._path, mode == "a", network_settings(model, **running), first_stage,
                                            backend)
            if model is not None:
                self._open.expect_model()
            if shape is not None:
                self._expect_shape(*_settings.pair(shape, "shape", "cells of a grid, dimensions"))
        elif shape is not None:
            rows, dim = _settings.pair(shape, "shape", "cells of a grid, dimensions")
            self._open = _diml.create_gallery_of_arrays(self._path, _settings.whole(rows, "shape[0]", 1),
                                                        _settings.whole(dim, "shape[1]", 1), type, first_stage, backend)
        elif model is not None:
            settings = network_settings(model, grid=grid, pooling=pooling, projection=projection,
                                        preprocessing=preprocessing, **running)
            self._open = _diml.create_gallery(self._path, settings, type, first_stage, backend)
        else:
            raise NotFound(f"{self._shown}: there is no gallery: name a model to create one, or the shape (R, D) of your own "
                           "grids")

    @property
    def _gallery(self) -> _diml.Gallery:
        if self._open is None:
            raise BadInput(f"{self._shown}: the gallery is closed")
        if self._process != os.getpid():
            raise Conflict(f"{self._shown}: the gallery was opened before this process was forked, and its files cannot be "
                           "shared so: open it in this process")
        return self._open

    def _expect_shape(self, rows: Any, dim: Any) -> None:
        there = self.info
        own = there["cells_per_grid"], there["dim"]
        if (rows, dim) != own:
            self.close()
            raise BadInput(f"{self._shown}: the gallery's grids have the shape {own}, not {(rows, dim)}: leave shape out to "
                           "open it")

    def close(self) -> None:
        """Leaves the files to others; `with` does so at its end."""
        self._open = None

    def __reduce__(self) -> Any:
        raise TypeError(f"{self._shown}: a gallery is neither pickled nor copied: open it again where it is needed")

    def __enter__(self) -> "Gallery":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<diml.Gallery {self._shown} {'closed' if self._open is None else len(self)}>"

    def add(self, paths: Union[PathLike, Sequence[PathLike]], labels: ArrayLike = None, metadata: Any = None, *,
            cells: GridsLike = None, globals: ArrayLike = None, replace: bool = False, bad: str = "stop",
            orientation: str = "exif", progress: ProgressLike = None) -> Dict[str, Any]:
        """Adds photos, chunk by chunk; what was added when the call ends early stays.

        paths: files, or a folder. labels: words or numbers, one for each path, or one for all; None leaves a label as it is.
        metadata: dictionaries, one for each path, or one for all. cells, globals: [N, R, D] and [N, D], your own grids: then
        paths are names, and no file is read.
        Paths that are there get the label and the metadata; replace=True embeds them again. bad="skip" leaves out files that
        cannot be read. Returns {"items", "added", "replaced", "known", "updated", "changed_on_disk", "bad"}.

        >>> import diml, os, tempfile
        >>> import numpy as np
        >>> folder = tempfile.TemporaryDirectory()
        >>> g = diml.Gallery(os.path.join(folder.name, "g"), shape=(4, 8))
        >>> grids = np.random.default_rng(0).normal(size=(2, 4, 8))
        >>> g.add(["a", "b"], labels=["x", "y"], metadata=[{"price": 3}, None], cells=grids)["added"]
        2
        >>> g.close(), folder.cleanup()
        (None, None)
        """
        if bad not in ("stop", "skip"):
            raise BadInput("bad is 'stop' or 'skip'")
        names = self._files(paths) if cells is None else _listed(paths)
        words = _labels(labels, len(names))
        objects = _metadata(metadata, len(names))
        with reporting(progress, "add") as report:
            if cells is None:
                return self._gallery.add_files(names, words, objects, replace, bad == "skip", orientation, report)
            made = _inputs.grids(cells, globals)
            if len(made) != len(names):
                raise BadInput(f"there are {len(names)} paths and {len(made)} grids: one each is wanted")
            return self._gallery.add_grids(made, names, words, objects, replace, report)

    def _files(self, paths: Union[PathLike, Sequence[PathLike]]) -> List[str]:
        if is_path(paths) and os.path.isdir(paths):  # type: ignore[arg-type]
            return _diml.Gallery.images_below(os.fspath(paths))  # type: ignore[arg-type]
        return _listed(paths)

    def sync(self, folder: PathLike, *, labels: str = "fill", dry_run: bool = False, force: bool = False,
             bad: str = "stop", progress: ProgressLike = None) -> Dict[str, Any]:
        """Brings the gallery up to date with a folder: new photos, changed ones, and those that are gone.

        labels: names of folders as labels: "fill" where there is none, "set" all, or "ignore". dry_run: changes nothing.
        force: removes photos also where more than half of the folder's are gone. Returns what was done, with "steps".
        """
        with reporting(progress, "sync") as report:
            return self._gallery.sync(os.fspath(folder), labels, dry_run, force, bad == "skip", report)

    def update(self, ids: Any, labels: ArrayLike = None, metadata: Any = None) -> None:
        """Changes labels and metadata of items: of one, or of a list. What is None stays; a label of "" is none.

        metadata takes the place of the whole object.
        """
        chosen = self._ids(ids)
        self._gallery.update(chosen, _labels(labels, len(chosen)), _metadata(metadata, len(chosen)))

    def remove(self, ids: Any) -> None:
        """Removes items: ids or paths, one or a list. Removes none where one of them does not exist."""
        self._gallery.remove(self._ids(ids))

    def build_index(self, kind: str = "hnsw", progress: ProgressLike = None) -> Dict[str, Any]:
        """Builds the index that first_stage="index" searches with, for galleries of a million photos, or builds it again.

        kind: "hnsw" (near exact) or "ivf-pq" (small), beside the gallery's folder; "pgvector" in PostgreSQL.
        Returns {"kind", "items", "bytes", "seconds", "recall": {1: .., 10: .., 100: ..}}, recall against exact search.

        >>> import diml, os, tempfile
        >>> import numpy as np
        >>> folder = tempfile.TemporaryDirectory()
        >>> g = diml.Gallery(os.path.join(folder.name, "g"), shape=(4, 8), first_stage="index")
        >>> done = g.add([str(i) for i in range(50)], cells=np.random.default_rng(0).normal(size=(50, 4, 8)))
        >>> g.build_index()["recall"][1], [hit["path"] for hit in g.search(7, k=50)].count("7")
        (1.0, 0)
        >>> g.close(), folder.cleanup()
        (None, None)
        """
        with reporting(progress, "index") as report:
            return self._gallery.build_index(kind, report)

    def find(self, path: PathLike) -> Optional[int]:
        """The id of a path, or None."""
        found = self._gallery.find(os.fspath(path))
        return self._gallery.find(os.path.abspath(os.fspath(path))) if found is None else found

    def ids(self, where: Where = ()) -> List[int]:
        """Ids of the items that satisfy all conditions, ascending."""
        return self._gallery.admitted(_conditions(where))

    def grids(self, ids: Any = None) -> Tuple[Any, Any]:
        """(cells float32 [N, R, D], globals float32 [N, D]) of items; of all in the order of ids() for None."""
        return self._gallery.grids(self.ids() if ids is None else self._ids(ids))

    def thumbnail(self, id: int) -> bytes:
        """A small JPEG of an item; b"" where there is none."""
        return self._gallery.thumbnail(id)

    @property
    def info(self) -> Dict[str, Any]:
        """Counts, shape and type of the grids, size on disk, revision, and how photos became grids."""
        return self._gallery.info()

    def verify(self, progress: ProgressLike = None) -> Dict[str, Any]:
        """Checks every record: {"items", "damaged": ids, "faults": lines}."""
        with reporting(progress, "verify") as report:
            return self._gallery.verify(report)

    def __len__(self) -> int:
        return len(self._gallery)

    def __getitem__(self, id: Union[int, PathLike]) -> Item:
        """An item by its id or path: {"id", "path", "label", "metadata"}."""
        item = self._gallery.item(self._ids(id)[0])
        item["metadata"] = json.loads(item["metadata"] or "{}")
        return item

    def __contains__(self, id: Union[int, PathLike]) -> bool:
        if isinstance(id, (str, os.PathLike)):
            return self.find(id) is not None
        return int(id) in self._gallery

    def __iter__(self) -> Iterator[Item]:
        """Items in the order of their ids, as they were when the iteration began; removed ones are passed over."""
        for id in self.ids():
            if id in self:
                yield self[id]

    def search(self, query: Any, k: int = 10, *, globals: ArrayLike = None, where: Where = (), rerank: int = 100,
               weights: Tuple[float, float] = (1.0, 1.0), marginals: str = "cross_correlation", lambda_: float = 0.05,
               tolerance: float = 1e-4, max_iterations: int = 1000, progress: ProgressLike = None) -> Any:
        """The k most similar items, the best first.

        query: a photo ("a.jpg", or uint8 [height, width, 3]), an id, or cells [R, D]. A list of photos, a list of ids or
        cells [Q, R, D] ask many at once and give a list of lists. An id is not among its own hits.
        globals: of cells, [D] or [Q, D]; None is the mean of the cells. What an Embedder returns is a query as it is, with
        the hits of its photos.
        where: conditions that all must hold, such as "label=pug", ["price<=20", "colour in red,blue"], "price exists".
        rerank: candidates that are matched structurally. Hits are dictionaries: rank, id, path, label, global (cosine),
        structural (None beyond `rerank`), total, first_rank (its place by cosine), metadata; pandas.DataFrame takes them.

        >>> import diml, os, tempfile
        >>> import numpy as np
        >>> folder = tempfile.TemporaryDirectory()
        >>> cells = np.random.default_rng(0).normal(size=(5, 4, 8))
        >>> with diml.Gallery(os.path.join(folder.name, "g"), shape=(4, 8)) as g:
        ...     done = g.add(list("abcde"), cells=cells, metadata=[{"price": 10 * i} for i in range(5)])
        ...     [hit["path"] for hit in g.search(cells[3], k=1)], [hit["id"] for hit in g.search(3, k=9, where="price<=20")]
        (['d'], [0, 1, 2])
        >>> folder.cleanup()
        """
        k, rerank, weights = _settings.whole(k, "k", 1), _settings.whole(rerank, "rerank", 0), _settings.weights(weights)
        match = _settings.params(marginals, lambda_, tolerance, max_iterations)
        one, how, queries = self._queries(query, globals)
        with reporting(progress, "search") as report:
            found = getattr(self._gallery, "search_" + how)(queries, k, rerank, weights, match,
                                                            _conditions(where), report)
        for hits in found:
            for hit in hits:
                hit["metadata"] = json.loads(hit["metadata"] or "{}")
        return found[0] if one else found

    def _queries(self, query: Any, vectors: Any) -> Tuple[bool, str, Any]:
        if isinstance(query, Embeddings):
            if vectors is not None:
                raise BadInput("what an Embedder returns has its globals: pass its cells alone to take others")
            return False, "grids", _inputs.grids(query.cells, query.globals)
        found = self._kind_of_queries(query, vectors)
        if vectors is not None and found[1] != "grids":
            raise BadInput(f"globals go with cells, and these are {found[1]}")
        return found

    @staticmethod
    def _kind_of_queries(query: Any, vectors: Any) -> Tuple[bool, str, Any]:
        if _is_id(query):
            return True, "ids", [int(query)]
        if is_path(query):
            return True, "photos", [os.fspath(query)]
        if isinstance(query, (list, tuple)):
            if not query:
                raise BadInput("the list of queries is empty: one at least is wanted")
            kinds = {"ids" if _is_id(q) else "photos" if is_path(q) else "arrays" for q in query}
            if len(kinds) > 1:
                raise TypeError(_KINDS_OF_QUERIES)
            if kinds == {"ids"}:
                return False, "ids", [int(q) for q in query]
            if kinds == {"photos"}:
                return False, "photos", [os.fspath(q) for q in query]
            if any(_inputs.is_picture(q) for q in query):
                return False, "pictures", [_pixels(q) for q in query]
            return False, "grids", _inputs.grids(query, vectors)
        query = _inputs.as_numpy(query)
        if query is None or np.ndim(query) == 0:
            raise TypeError(f"the query is {_settings.shown(query)}: {_KINDS_OF_QUERIES}")
        if _inputs.is_picture(query):
            many = getattr(query, "ndim", 3) == 4
            return (False, "pictures", list(query)) if many else (True, "pictures", [_inputs.pixels_of(query)])
        cells = np.asarray(query)
        if cells.dtype.kind in "iu" and cells.ndim == 1:
            return False, "ids", cells.tolist()
        if cells.ndim == 2:
            return True, "grids", _inputs.one_grid(cells, vectors, "the query")[0]
        return False, "grids", _inputs.grids(cells, vectors)

    def explain(self, source: Any, target: Any, out: Optional[PathLike] = None, *,
                marginals: str = "cross_correlation", lambda_: float = 0.05, tolerance: float = 1e-4,
                max_iterations: int = 1000) -> Match:
        """Why two images match: a Match that knows its pictures. It draws itself in a notebook.

        source, target: ids, paths of items, or photos outside the gallery (paths, or uint8 [height, width, 3]).
        out: a file to write: .html, .svg, .png, .pdf or .json.
        """
        found, pictures, names = self._gallery.explain(
            _side(source), _side(target), self._backend, _settings.params(marginals, lambda_, tolerance,
                                                                                         max_iterations))
        match = Match(found, None, None, pictures, names)
        if out is not None:
            match.explain(out)
        return match

    def _ids(self, given: Any) -> List[int]:
        several: Any = given if isinstance(given, (list, tuple, np.ndarray, range, set, frozenset)) else [given]
        ids = []
        for one in several:
            if is_path(one):
                id = self.find(one)
                if id is None:
                    raise NotFound(f"the gallery has no image {os.fspath(one)}")
                ids.append(id)
            elif _is_id(one):
                ids.append(int(one))
            else:
                raise TypeError(f"{one!r}: ids are integers, paths are text")
        return ids


_KINDS_OF_QUERIES = "queries are all paths, all uint8 arrays [height, width, 3], all ids or all cells"


def _pixels(x: Any) -> Any:
    pixels = None if is_path(x) else _inputs.pixels_of(x)
    if pixels is None:
        raise TypeError(_KINDS_OF_QUERIES)
    return pixels


def _is_id(x: Any) -> bool:
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)


def _side(x: Any) -> Any:
    if _is_id(x):
        return int(x)
    found = os.fspath(x) if is_path(x) else _inputs.pixels_of(x)
    if found is None:
        raise TypeError(f"{_settings.shown(x)} is no image: an id, a path or a uint8 array [height, width, 3] is wanted")
    return found


def _listed(paths: Any) -> List[str]:
    if is_path(paths):
        return [os.fspath(paths)]
    several = list(paths) if hasattr(paths, "__iter__") else [paths]
    for path in several:
        if not is_path(path):
            raise TypeError(f"{_settings.shown(path)} is no path: a path is wanted, or a list of paths")
    return [os.fspath(path) for path in several]


def _conditions(where: Where) -> List[str]:
    conditions = [where] if isinstance(where, str) or not hasattr(where, "__iter__") else list(where)
    return [_settings.word(condition, "where") for condition in conditions]


def _each(given: Any, count: int, what: str) -> List[Any]:
    values = list(given)
    if len(values) != count:
        raise BadInput(f"there are {count} images and {len(values)} {what}: one each is wanted")
    return values


def _labels(labels: Any, count: int) -> List[Optional[str]]:
    if labels is None:
        return []
    if isinstance(labels, (str, int, np.integer)):
        labels = [labels] * count
    return [None if label is None else _word(label) for label in _each(_inputs.as_numpy(labels), count, "labels")]


def _word(label: Any) -> str:
    if isinstance(label, str):
        return str(label)
    if isinstance(label, (int, np.integer)) and not isinstance(label, bool):
        return "" if label == -1 else str(int(label))  # -1 is no label, as in arrays
    raise TypeError(f"{label!r} is no label: words and whole numbers are")


def _metadata(metadata: Any, count: int) -> List[Optional[str]]:
    if metadata is None:
        return []
    if isinstance(metadata, Mapping):
        metadata = [metadata] * count
    return [None if one is None else _json(one) for one in _each(metadata, count, "metadata")]


def _json(metadata: Any) -> str:
    if not isinstance(metadata, Mapping):
        raise TypeError(f"metadata is a dictionary, not {type(metadata).__name__}")
    try:
        return json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"),
                          default=_plain)
    except ValueError as error:
        raise BadInput(f"metadata is {_settings.shown(metadata)}: JSON has no NaN, no infinity and no cycles") from error


def _plain(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"metadata holds {type(value).__name__}, which JSON has no word for")
