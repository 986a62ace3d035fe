"""Photos to grids: Embedder."""

import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _diml, _inputs, _settings
from ._errors import BadInput, Conflict
from ._progress import reporting
from ._typing import PathLike, ProgressLike


class Embeddings(Tuple[Any, Any]):
    """(cells, globals): float32 [N, R, D] and [N, D], all of length 1.

    rows: of the given images, those that could be read, in order: int64 [N]. bad: why the others could not.
    """

    rows: Any
    bad: List[str]

    @property
    def cells(self) -> Any:
        return self[0]

    @property
    def globals(self) -> Any:
        return self[1]


def network_settings(model: Optional[PathLike], **settings: Any) -> Dict[str, Any]:
    """What the extension takes; settings that are None are left to the library."""
    given = {name: value for name, value in settings.items() if value is not None}
    if model is not None:
        given["model"] = os.fspath(model)
    if "preprocessing" in given:
        if not isinstance(given["preprocessing"], Mapping):
            raise TypeError(f"preprocessing is {_settings.shown(given['preprocessing'])}: a dictionary is wanted, such as "
                            '{"resize": 256, "crop": 224}')
        given["preprocessing"] = preprocessing_words(given["preprocessing"])
    return given


def preprocessing_words(given: Mapping[str, Any]) -> Dict[str, str]:
    """{"mean": [120, 120, 120]} as the library reads it: {"mean": "120,120,120"}."""
    def words(value: Any) -> str:
        return ",".join(str(v) for v in value) if isinstance(value, (list, tuple)) else str(value)

    return {name: words(value) for name, value in given.items()}


def is_path(x: Any) -> bool:
    return isinstance(x, (str, os.PathLike))


class Embedder:
    """A trained network that turns photos into grids of cells.

    model: a file (.safetensors; TorchScript), or the name of weights that fetch_model() fetched, such as "resnet50".
    grid: cells a side; R is grid * grid. pooling: "align" or "roi_align". projection: apply it where the model has one.
    preprocessing: {"resize": 256, "crop": 224, ...}, in place of the model's own.
    device: "cpu", or "cuda" and "cuda:1", which need LibTorch. network: what runs it, "auto", "onednn" or "torch".
    precision: "float32" or "bfloat16". batch: images in one forward pass; None: 8, or 256 on a GPU.
    The number of threads is that of set_threads() when the embedder is made.

    >>> import diml, os, tempfile
    >>> import numpy as np
    >>> folder = tempfile.TemporaryDirectory()
    >>> model = os.path.join(folder.name, "small.safetensors")
    >>> diml.write_model(model, dim=32)
    >>> e = diml.Embedder(model, grid=4)
    >>> photo = np.random.default_rng(0).integers(0, 256, size=(80, 100, 3), dtype=np.uint8)
    >>> cells, globals = e([photo, photo[:, ::-1]])
    >>> cells.shape, globals.shape
    ((2, 16, 32), (2, 32))
    >>> folder.cleanup()
    """

    def __init__(self, model: PathLike, *, grid: int = 4, pooling: str = "align", projection: bool = True,
                 preprocessing: Optional[Mapping[str, Any]] = None, device: str = "cpu", network: str = "auto",
                 precision: str = "float32", batch: Optional[int] = None) -> None:
        if not is_path(model):
            raise TypeError(f"model is {_settings.shown(model)}: a file is wanted, or the name of fetched weights")
        self._shared = _diml.open_embedder(network_settings(
            model, grid=grid, pooling=pooling, projection=projection, preprocessing=preprocessing, device=device,
            network=network, precision=precision, batch=batch))
        self._about = self._shared.about
        self._process = os.getpid()

    def __call__(self, images: Union[PathLike, Any, Sequence[Any]], *, bad: str = "stop", orientation: str = "exif",
                 progress: ProgressLike = None) -> Embeddings:
        """Grids of photos: (cells float32 [N, R, D], globals float32 [N, D]).

        images: a list of paths, or of uint8 arrays [height, width, 3] (RGB) or pictures of Pillow, or one of these.
        bad: "stop" at a file that cannot be read, or "skip" it: then .rows says which were read and .bad why others were
        not. orientation: "exif" rotates files as the camera was held, "as_stored" does not.
        progress: True, or a function of (done, total).
        """
        if bad not in ("stop", "skip"):
            raise BadInput("bad is 'stop' or 'skip'")
        if self._process != os.getpid():
            raise Conflict("the embedder was made before this process was forked, and its threads are not here: make one in "
                           "this process")
        given: List[Any] = [images] if is_path(images) or _inputs.pixels_of_one(images) else list(images)  # type: ignore
        with reporting(progress, "embed") as report:
            if given and all(is_path(image) for image in given):
                paths = [os.fspath(path) for path in given]
                cells, vectors, rows, why = self._shared.embed_files(paths, orientation, bad == "skip", report)
                found = Embeddings((cells[:len(rows)], vectors[:len(rows)]))
                found.rows, found.bad = rows.astype(np.int64), why
                return found
            found = Embeddings(self._shared.embed_pictures([_pixels(image) for image in given], report))
        found.rows, found.bad = np.arange(len(given)), []
        return found

    @property
    def cells(self) -> int:
        """R: the cells of a grid."""
        return int(self._about["cells"])

    @property
    def dim(self) -> int:
        """D: the dimensions of a cell."""
        return int(self._about["dim"])

    @property
    def info(self) -> Dict[str, Any]:
        """The model's file, what runs it, and everything that affects the grids."""
        return dict(self._about)

    def __reduce__(self) -> Any:
        raise TypeError("an embedder is neither pickled nor copied: make one where it is needed")

    def __repr__(self) -> str:
        return f"<diml.Embedder {self._about['model']} {self.cells}x{self.dim} {self._about['network']}>"


def _pixels(image: Any) -> Any:
    pixels = None if is_path(image) else _inputs.pixels_of(image)
    if pixels is None:
        raise TypeError("images are either all paths, or all uint8 arrays [height, width, 3]")
    return pixels
