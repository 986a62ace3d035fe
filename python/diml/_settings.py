"""Arguments that are no grids: numbers, words and pairs. What is wrong with one is said in a line that names it."""

import operator
import reprlib
import sys
from typing import Any, List, Optional, Tuple

from . import _diml
from ._errors import BadInput


_MOST_INT = 2**31 - 1  # the library knows a smaller limit, and says it


def shown(value: Any) -> str:
    """A value as a message shows it: short, in one line."""
    return " ".join(reprlib.repr(value).split())


def number(value: Any, name: str) -> float:
    try:
        if not isinstance(value, (str, bytes, bool)):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise TypeError(f"{name} is {shown(value)}: a number is wanted")


def whole(value: Any, name: str, least: Optional[int] = None) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {shown(value)}: a whole number is wanted") from None
    if least is not None and found < least:
        raise BadInput(f"{name} is {found}: {least} or more is wanted")
    if abs(found) > sys.maxsize:
        raise BadInput(f"{name} is {found}: at most {sys.maxsize} is possible")
    return found


def word(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is {shown(value)}: a word is wanted")
    return value


def pair(value: Any, name: str, of_what: str) -> Tuple[Any, Any]:
    """Two of something; None is (None, None)."""
    if value is None:
        return None, None
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise BadInput(f"{name} is {shown(value)}: a pair is wanted, ({of_what})")
    return value[0], value[1]


def both(globals: Any) -> Tuple[Any, Any]:
    """The global vectors of two sides."""
    if type(globals) is tuple and len(globals) == 2:
        return globals[0], globals[1]
    return pair(globals, "globals", "of the first, of the second")


def weights(value: Any) -> Tuple[float, float]:
    first, second = pair(value, "weights", "of the cosine, of the structural similarity")
    return number(first, "weights[0]"), number(second, "weights[1]")


def params(marginals: str, lambda_: float, tolerance: float, max_iterations: int) -> _diml.MatchParams:
    """How pairs are matched."""
    return _diml.MatchParams(word(marginals, "marginals"), number(lambda_, "lambda_"), number(tolerance, "tolerance"),
                             max(0, min(whole(max_iterations, "max_iterations"), _MOST_INT)))


def depths(rerank: Any, size: int) -> List[int]:
    """Depths of re-ranking: whole numbers, or "all"."""
    several = [rerank] if isinstance(rerank, str) or not hasattr(rerank, "__iter__") else list(rerank)
    return [size if isinstance(depth, str) and depth == "all" else _depth(depth) for depth in several]


def _depth(depth: Any) -> int:
    try:
        return whole(depth, "rerank", 0)
    except TypeError:
        raise TypeError(f"rerank holds {shown(depth)}: whole numbers are wanted, or 'all'") from None


def set_threads(count: int) -> None:
    """Limits the threads of later calls. 0, the default: $DIML_THREADS, else OpenMP's limit ($OMP_NUM_THREADS,
    torch.set_num_threads), else all cores.

    >>> import diml
    >>> diml.set_threads(2)
    >>> diml.threads()
    2
    >>> diml.set_threads(0)
    """
    _diml.set_threads(whole(count, "count", 0))
