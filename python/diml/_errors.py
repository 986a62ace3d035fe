"""Exceptions of diml: one class for each kind of error, each also one of Python's own."""


class Error(Exception):
    """An error of the library. str() is its sentence; `kind` and `parameter` are for programs."""

    kind = "internal"
    parameter = ""

    def __str__(self) -> str:  # KeyError would quote it
        return str(self.args[0]) if self.args else ""


class BadInput(Error, ValueError):
    """An argument or a file that cannot be used; the sentence says what is wanted."""

    kind = "bad input"


class NotFound(Error, KeyError):
    """A file, an item or a model that is not there."""

    kind = "not found"


class Conflict(Error, RuntimeError):
    """Something else is at work, or there already."""

    kind = "conflict"


class Unsupported(Error, NotImplementedError):
    """This build or machine cannot do it; the sentence names what would."""

    kind = "unsupported"


class DamagedData(Error, RuntimeError):
    """A file whose content is not what was written."""

    kind = "damaged"


class OutOfResources(Error, MemoryError):
    """Memory, disk or another resource is used up."""

    kind = "out of resources"


class InternalError(Error, RuntimeError):
    """A mistake of the library."""

    kind = "internal"


_KINDS = {c.kind: c for c in (BadInput, NotFound, Conflict, Unsupported, DamagedData, OutOfResources, InternalError)}

for _class in (Error, *_KINDS.values()):
    _class.__module__ = "diml"  # where callers find it: tracebacks say diml.BadInput

# What solves a problem, said in Python: the library names a parameter or a call of its own.
_REMEDIES = {
    "build_index": "Gallery.build_index() does",
    "calibrate": "the program's `diml calibrate` does",
    "create_gallery": "diml.Gallery(path, model=...) does",
    "duplicates": "replace=True replaces it",
    "fetch_model": "diml.fetch_model() does",
    "force": "force=True removes them",
    "import_model": "diml.import_model() does",
    "kind": "kind=",
    "list_items": "Gallery.ids() does",
    "make_own_index": "Gallery.build_index() does",
    "matcher": "backend='cpu'",
    "model": "model= names its file",
    "skip_bad": "bad='skip' skips it",
    "verify": "Gallery.verify() does",
}


def of_kind(kind: str, line: str, parameter: str) -> Error:
    remedy = _REMEDIES.get(parameter)
    error = _KINDS.get(kind.replace("_", " "), InternalError)(line + (f" ({remedy})" if remedy else ""))
    error.parameter = parameter
    return error
