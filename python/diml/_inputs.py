"""From what people have (arrays, lists of arrays, tensors) to grids, and back to the same kind."""

import functools
import sys
import warnings
from typing import Any, Callable, Optional, Tuple

import numpy as np

from . import _diml
from ._errors import BadInput, Unsupported
from ._typing import ArrayLike, GridsLike

_HOST = (1, 3)  # DLPack's numbers of devices: memory of the CPU, and such memory that a GPU reads


def is_tensor(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _is_foreign(x: Any) -> bool:
    """Whether x is an array of a library that is neither NumPy nor torch, and lends its memory (DLPack)."""
    return not isinstance(x, np.ndarray) and hasattr(type(x), "__dlpack__") and not is_tensor(x)


def adopted(x: Any) -> Any:
    """An array, or a tensor on a GPU, of what another library holds: where it lies. All else as it is."""
    if isinstance(x, (list, tuple)):
        return [adopted(one) for one in x] if any(_is_foreign(one) for one in x) else x
    if not _is_foreign(x):
        return x
    if x.__dlpack_device__()[0] in _HOST:
        try:
            return np.from_dlpack(x)
        except (BufferError, RuntimeError, TypeError, ValueError):
            if "torch" not in sys.modules:  # such as bfloat16, which NumPy has no word for
                return np.asarray(x)
    try:
        import torch
    except ImportError as error:
        raise Unsupported(f"a {type(x).__name__} on a GPU is taken through PyTorch, which is not there: install "
                          "python3-torch, or copy it to a NumPy array") from error
    return torch.from_dlpack(x)


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


def _first(x: Any) -> Any:
    return x[0] if isinstance(x, (list, tuple)) and len(x) else x


def on_gpu(x: Any) -> bool:
    """Whether x, which is adopted, is a tensor, or a list of tensors, that is matched where it lies: on a GPU."""
    first = _first(x)
    return is_tensor(first) and first.device.type != "cpu"


def as_numpy(x: Any) -> Any:
    """An array of x. A tensor on a GPU is copied to the host; bfloat16 becomes float32."""
    x = adopted(x)
    if isinstance(x, np.ndarray):
        if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
            raise BadInput("an array has masked values: fill them, or leave them out")
        # ml_dtypes adds bfloat16 to NumPy; it is known by its name alone.
        return from_bfloat16(x.view(np.uint16)) if x.dtype.kind == "V" and x.dtype.name == "bfloat16" else x
    if not is_tensor(x):
        return x
    x = x.detach().cpu()
    torch = sys.modules["torch"]
    return (x.float() if x.dtype == torch.bfloat16 else x).numpy()


def kind_of(*inputs: Any) -> Optional[Callable[[Any], Any]]:
    """What makes the kind of the first input that is no NumPy array out of a result: of tensors a tensor on their device, of
    another library's arrays one of that library, where it follows the array API. None where results stay as they are."""
    for x in inputs:
        first = _first(x)
        if is_tensor(first):
            return functools.partial(_on_device, first.device)
        if _is_foreign(first):
            namespace = getattr(first, "__array_namespace__", None)
            return namespace().from_dlpack if namespace is not None else None
    return None


def _on_device(device: Any, result: Any) -> Any:
    return (result if is_tensor(result) else sys.modules["torch"].from_numpy(result)).to(device)


def like(result: Any, *inputs: Any) -> Any:
    """The result in the kind of the inputs."""
    made = kind_of(*inputs)
    return result if made is None else made(result)


def whole_numbers(x: ArrayLike, name: str) -> "np.ndarray[Any, Any]":
    """int64, contiguous, of integers of any type, strides and order of bytes."""
    x = np.asarray(as_numpy(x))
    if x.size and x.dtype.kind not in "iu":
        raise TypeError(f"{name} has the type {x.dtype}: integers are wanted")
    if x.size and x.dtype.kind == "u" and int(x.max()) > np.iinfo(np.int64).max:
        raise BadInput(f"{name} holds {x.max()}: numbers of images are smaller")
    return np.ascontiguousarray(x, np.int64)


def listed_pairs(pairs: ArrayLike) -> "np.ndarray[Any, Any]":
    """int64 [P, 2]; an empty list is no pairs."""
    listed = whole_numbers(pairs, "pairs")
    return listed.reshape(0, 2) if listed.size == 0 else listed


_AXES = {"nchw": "[images, dimensions, rows, columns]", "nhwc": "[images, rows, columns, dimensions]"}
_TURN = "if it is [images, dimensions, cells], transpose it with .transpose(0, 2, 1)"


def warn_if_turned(shape: Tuple[int, ...], name: str, settles: str) -> None:
    """Says how cells [N, R, D] are read where R > D, which may be the other way round. settles: what says that it is not."""
    if shape[1] > shape[2]:
        warnings.warn(f"{name}: {list(shape)} is read as [images, cells, dimensions]: {shape[1]} cells of {shape[2]} "
                      f"dimensions; {_TURN}; {settles}", stacklevel=4)


def cells_of(x: GridsLike, layout: str, vectors: ArrayLike, name: str) -> Tuple[Any, str]:
    """Cells [N, R, D] of an array, a tensor, or of maps of features with four axes, and how they lay; lists as they are.

    layout: "auto" goes by the shape, as `diml --layout` does, and warns of what it takes for granted.
    """
    if layout not in ("auto", "nrd", *_AXES):
        raise BadInput(f"unknown layout '{layout}': auto, nrd, nchw or nhwc")
    x = adopted(x)
    if isinstance(x, (list, tuple)):
        return x, layout
    if not is_tensor(x):
        x = np.asarray(as_numpy(x)) if not isinstance(x, _diml.Grids) else x
    if isinstance(x, _diml.Grids) or x.ndim not in (3, 4):
        return x, layout  # refused later, where its shape is wrong
    known = getattr(vectors, "shape", None)
    if x.ndim == 3:
        if layout in _AXES:
            raise BadInput(f"{name} is {list(x.shape)}: the layout {layout} has four axes, {_AXES[layout]}")
        size, cells, dim = x.shape
        if cells != dim and known is not None and tuple(known) == (size, cells):
            raise BadInput(f"{name} is {list(x.shape)}, and the globals have {cells} dimensions: it looks like [images, "
                           "dimensions, cells], transpose it with .transpose(0, 2, 1)")
        if layout == "auto" and vectors is None:
            warn_if_turned(tuple(x.shape), name, "layout='nrd' says that it is not")
        return x, layout
    if layout == "nrd":
        raise BadInput(f"{name} is {list(x.shape)}: the layout nrd has three axes, [images, cells, dimensions]")
    guessed = layout == "auto"
    if guessed:
        layout = _layout_of(tuple(x.shape), known, name)
    if layout == "nchw":
        x = x.permute(0, 2, 3, 1) if is_tensor(x) else x.transpose(0, 2, 3, 1)
    if guessed:
        warnings.warn(f"{name} is read as {_AXES[layout]}: {x.shape[1] * x.shape[2]} cells of {x.shape[3]} dimensions; "
                      f"layout='{layout}' says so", stacklevel=3)
    return x.reshape(x.shape[0], x.shape[1] * x.shape[2], x.shape[3]), layout


def _layout_of(shape: Tuple[int, ...], known: Any, name: str) -> str:
    """Maps are square, or the globals say how many dimensions there are."""
    def fits(dim: int, rows: int, columns: int) -> bool:
        return known[1] == dim if known is not None and len(known) == 2 else rows == columns

    first, last = fits(shape[1], shape[2], shape[3]), fits(shape[3], shape[1], shape[2])
    if first != last:
        return "nchw" if first else "nhwc"
    error = BadInput(f"{name} is {list(shape)}, and its shape does not tell where the dimensions are: name the layout, nchw "
                     "or nhwc")
    error.parameter = "layout"
    raise error


def grids(cells: GridsLike, global_vectors: ArrayLike = None, any_length: bool = False) -> _diml.Grids:
    """Grids of [N, R, D], or of a list of [R_i, D]. any_length: R is not limited."""
    if isinstance(cells, _diml.Grids):
        return cells
    cells, global_vectors = adopted(cells), as_numpy(global_vectors)
    if isinstance(cells, (list, tuple)):
        return _diml.grids_of_list([as_numpy(c) for c in cells], global_vectors, any_length)
    return _diml.grids_of_array(as_numpy(cells), global_vectors, any_length)


def one_grid(cells: ArrayLike, global_vector: ArrayLike = None,
             name: str = "cells") -> Tuple[_diml.Grids, Optional[Tuple[int, int]]]:
    """One grid of [R, D] or [rows, cols, D], and its shape (rows, cols) where that is known."""
    if type(cells) is not np.ndarray or cells.dtype != np.float32:
        cells = np.asarray(as_numpy(cells))
    shape, given = None, cells.shape
    if len(given) == 3:
        shape = given[:2]
        cells = cells.reshape(-1, given[2])
    if global_vector is not None:
        return _diml.one_grid(cells, as_numpy(global_vector), name), shape
    made = _diml.one_grid(cells, None, name)
    if shape is None:
        if given[0] > given[1]:
            warnings.warn(f"{name}: {list(given)} is read as {given[0]} cells of {given[1]} dimensions; if it is "
                          "[dimensions, cells], transpose it with .T; its global, or [rows, columns, dimensions], says that "
                          "it is not", stacklevel=3)
    elif given[1] == given[2] != given[0]:
        warnings.warn(f"{name}: {list(given)} is read as [rows, columns, dimensions]; if it is [dimensions, rows, columns], "
                      "transpose it with .transpose(1, 2, 0); its global says that it is not", stacklevel=3)
    return made, shape


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


def is_picture(x: Any) -> bool:
    """Whether x is a picture of Pillow, or 8-bit: pixels rather than cells."""
    return hasattr(x, "convert") or str(getattr(x, "dtype", "")) in ("uint8", "torch.uint8")


def pixels_of(image: Any) -> "Optional[np.ndarray[Any, Any]]":
    """uint8 [H, W, 3] of an array, a tensor or a picture of Pillow; None for anything else, such as a path."""
    image = as_numpy(image)
    if not isinstance(image, np.ndarray):
        if not hasattr(image, "__array_interface__"):
            return None
        image = np.asarray(image.convert("RGB") if hasattr(image, "convert") else image)
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        turned = image.ndim == 3 and image.shape[0] == 3 != image.shape[2]
        raise TypeError(f"a picture is {image.dtype} {list(image.shape)}: uint8 [height, width, 3] is wanted" +
                        ("; transpose it with .transpose(1, 2, 0)" if turned else ""))
    return image


def pixels_of_one(image: Any) -> bool:
    """Whether this is one picture rather than a list of them."""
    if isinstance(image, (list, tuple)):
        return False
    return getattr(as_numpy(image), "ndim", 0) in (2, 3) or hasattr(image, "convert")
