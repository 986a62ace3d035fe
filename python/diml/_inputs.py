"""From what people have (arrays, lists of arrays, tensors) to grids, and back to the same kind."""

import sys
from typing import Any, Optional, Tuple

import numpy as np

from . import _diml
from ._typing import ArrayLike, GridsLike


def is_tensor(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def from_bfloat16(bits: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """float32 of bfloat16 numbers, given as their bits: uint16 of any shape. Nothing is rounded.

    NumPy has no bfloat16 of its own. Arrays of the package ml_dtypes are taken as they are; files and sockets often hold
    the bits alone.

    >>> import numpy as np, diml
    >>> diml.from_bfloat16(np.array([0x3F80, 0xC000], np.uint16)).tolist()
    [1.0, -2.0]
    """
    bits = np.asarray(bits)
    if bits.dtype != np.uint16:
        raise TypeError(f"bits of bfloat16 are uint16, not {bits.dtype}")
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def on_gpu(x: Any) -> bool:
    """Whether x is a tensor, or a list of tensors, that is matched where it lies: on a GPU."""
    first = x[0] if isinstance(x, (list, tuple)) and len(x) else x
    return is_tensor(first) and first.device.type != "cpu"


def as_numpy(x: Any) -> Any:
    """An array of x. A tensor on a GPU is copied to the host; bfloat16 becomes float32."""
    if isinstance(x, np.ndarray):
        # ml_dtypes adds bfloat16 to NumPy; it is known by its name alone.
        return from_bfloat16(x.view(np.uint16)) if x.dtype.kind == "V" and x.dtype.name == "bfloat16" else x
    if not is_tensor(x):
        return x
    x = x.detach().cpu()
    torch = sys.modules["torch"]
    return (x.float() if x.dtype == torch.bfloat16 else x).numpy()


def like(result: Any, *inputs: Any) -> Any:
    """The result as a tensor on the device of the first tensor among the inputs, else as it is."""
    for x in inputs:
        first = x[0] if isinstance(x, (list, tuple)) and len(x) else x
        if is_tensor(first):
            return sys.modules["torch"].from_numpy(result).to(first.device)
    return result


def grids(cells: GridsLike, global_vectors: ArrayLike = None) -> _diml.Grids:
    """Grids of [N, R, D], or of a list of [R_i, D]."""
    if isinstance(cells, _diml.Grids):
        return cells
    global_vectors = as_numpy(global_vectors)
    if isinstance(cells, (list, tuple)):
        return _diml.grids_of_list([as_numpy(c) for c in cells], global_vectors)
    return _diml.grids_of_array(as_numpy(cells), global_vectors)


def one_grid(cells: ArrayLike, global_vector: ArrayLike = None) -> Tuple[_diml.Grids, Optional[Tuple[int, int]]]:
    """One grid of [R, D] or [rows, cols, D], and its shape (rows, cols) where that is known."""
    cells = np.asarray(as_numpy(cells))
    shape = None
    if cells.ndim == 3:
        shape = (cells.shape[0], cells.shape[1])
        cells = cells.reshape(-1, cells.shape[2])
    return _diml.one_grid(cells, as_numpy(global_vector)), shape


def shape_of_cells(count: int) -> Tuple[int, int]:
    """(rows, cols) of `count` cells: a square where they make one, else the nearest rectangle."""
    rows = next(r for r in range(int(count**0.5), 0, -1) if count % r == 0)
    return rows, count // rows


def picture(image: Any, shape: Tuple[int, int]) -> "np.ndarray[Any, Any]":
    """8-bit RGB [H, W, 3] of an array or of a file's path; a picture of the grid for None."""
    if image is None:
        rows, cols = shape
        side = max(8, 256 // max(rows, cols))
        y, x = np.mgrid[: rows * side, : cols * side] // side
        shades = np.array([198, 176], np.uint8)[(x + y) % 2]
        return np.repeat(shades[..., None], 3, axis=2)
    pixels = pixels_of(image)
    return _diml.read_pixels(str(image)) if pixels is None else pixels


def pixels_of(image: Any) -> "Optional[np.ndarray[Any, Any]]":
    """uint8 [H, W, 3] of an array, a tensor or a picture of Pillow; None for anything else, such as a path."""
    image = as_numpy(image)
    if not isinstance(image, np.ndarray):
        if not hasattr(image, "__array_interface__"):
            return None
        image = np.asarray(image.convert("RGB") if hasattr(image, "convert") else image)
    if image.dtype != np.uint8 or image.ndim != 3:
        raise TypeError(f"a picture is {image.dtype} {list(image.shape)}: uint8 [height, width, 3] is wanted")
    return image


def pixels_of_one(image: Any) -> bool:
    """Whether this is one picture rather than a list of them."""
    if isinstance(image, (list, tuple)):
        return False
    return getattr(as_numpy(image), "ndim", 0) == 3 or hasattr(image, "convert")
