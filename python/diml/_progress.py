"""Progress of long calls: a function of (done, total), or a bar for progress=True."""

import contextlib
import sys
import warnings
from typing import Any, Callable, Iterator, Optional

from ._typing import ProgressLike

Report = Callable[[int, int], Any]


@contextlib.contextmanager
def reporting(progress: ProgressLike, what: str) -> Iterator[Optional[Report]]:
    """The function that the library calls. what: the name of the bar."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        bar = _bar(what)
        try:
            yield bar.report
        finally:
            bar.close()
    elif callable(progress):
        yield progress
    else:
        raise TypeError("progress is True, or a function of (done, total)")


def _bar(what: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm tells of what it lacks in a notebook
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return _Line(what)
    return _Tqdm(tqdm, what)


class _Tqdm:
    def __init__(self, tqdm: Any, what: str) -> None:
        self._bar = tqdm(desc=what)

    def report(self, done: int, total: int) -> None:
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        self._bar.close()


class _Line:
    """One line on a terminal, and nothing elsewhere."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._drawn = -1

    def report(self, done: int, total: int) -> None:
        percent = 100 * done // max(1, total)
        if percent == self._drawn or not sys.stderr.isatty():
            return
        self._drawn = percent
        sys.stderr.write(f"\r{self._what}: {percent:3d} % of {total}")
        sys.stderr.flush()

    def close(self) -> None:
        if self._drawn >= 0:
            sys.stderr.write("\n")
