"""Image similarity that can say why: structural matching by optimal transport.

match() compares two images part by part, similarity() many pairs; rerank() and Retriever search, evaluate() measures,
StructuralKNeighbors classifies. Embedder makes cells of photos, Gallery keeps them on disk and searches them.
Arrays are NumPy's; cells are [R, D] for one image and [N, R, D] for many, of any scale: the library normalises them.
"""

from typing import Any

from ._diml import __version__, backends, features, threads
from ._errors import (BadInput, Conflict, DamagedData, Error, InternalError, NotFound, OutOfResources, Unsupported)
from ._generated import critters
from ._inputs import from_bfloat16
from ._match import Match, match
from ._neighbours import StructuralKNeighbors
from ._search import Evaluation, Retriever, evaluate, rerank, similarity
from ._settings import set_threads

__all__ = [
    "BadInput", "Conflict", "DamagedData", "Error", "Evaluation", "InternalError", "Match", "NotFound", "OutOfResources",
    "Retriever", "StructuralKNeighbors", "Unsupported", "backends", "critters", "evaluate", "features", "from_bfloat16",
    "match", "rerank", "set_threads", "similarity", "threads", "__version__",
]

if features()["networks"]:
    from ._embedder import Embedder, Embeddings
    from ._weights import fetch_model, import_model, write_model

    __all__ += ["Embedder", "Embeddings", "fetch_model", "import_model", "write_model"]
    if features()["gallery"]:
        from ._gallery import Gallery

        __all__ += ["Gallery"]
if features()["drawing"]:
    from ._samples import write_critters

    __all__ += ["write_critters"]


def __getattr__(name: str) -> Any:
    # What needs torch is loaded when it is asked for.
    if name in ("torch", "pml"):
        import importlib

        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
