"""The types of what goes in and comes out."""

import os
from typing import Any, Callable, Sequence, Union

# An array of numbers of any type and strides, a tensor of torch, or nested lists.
ArrayLike = Any
# [N, R, D], or a list of [R_i, D].
GridsLike = Any
# None, True (a bar: tqdm's where it is there), or a function of (done, total).
ProgressLike = Union[None, bool, Callable[[int, int], Any]]
PathLike = Union[str, "os.PathLike[str]"]
# Conditions of a search, all of which must hold: "label=pug", "price<=20".
Where = Union[str, Sequence[str]]
