"""The built-in pictures."""

from typing import Any, Tuple

from . import _diml
from ._errors import Unsupported


def critters(classes: int = 60, images_per_class: int = 20, size: int = 128, seed: int = 0) -> Tuple[Any, Any]:
    """Pictures of the built-in data set: creatures drawn from parts, whose classes come in families that differ in a few.

    Returns (pictures uint8 [classes * images_per_class, size, size, 3], labels int64): the same on every machine.

    >>> import diml
    >>> pictures, labels = diml.critters(classes=2, images_per_class=3, size=32)
    >>> pictures.shape, labels.tolist()
    ((6, 32, 32, 3), [0, 0, 0, 1, 1, 1])
    """
    if not hasattr(_diml, "critters"):
        raise Unsupported("this build draws no pictures: install libcairo2-dev and build it again")
    return _diml.critters(classes, images_per_class, size, seed)
