"""Pictures with classes, drawn here to try the package on."""

import os

from . import _diml
from ._typing import PathLike


def write_critters(folder: PathLike, classes: int = 60, images_per_class: int = 20, *, size: int = 128,
                   seed: int = 0) -> None:
    """Draws the built-in data set: creatures whose classes differ in a few parts.

    The folder gets the layout of CUB-200-2011: images/CLASS/NAME.png, boxes and the places of parts. Size: pixels a side.
    The same arguments give the same pictures everywhere.

    >>> import diml, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     diml.write_critters(folder, classes=2, images_per_class=3, size=32)
    ...     len(list(pathlib.Path(folder).glob("images/*/*")))
    6
    """
    _diml.write_critters(os.fspath(folder), classes, images_per_class, size, seed)
