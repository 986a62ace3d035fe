"""Which linear algebra library a peer really uses: the one loaded in its process."""
import ctypes
import re
from pathlib import Path

NAMES = re.compile(r"/lib(openblas|mkl_rt|mkl_core|blis|atlas|blas|cublas)[^/]*\.so[^/]*$")
# The first one that is loaded does the work: libblas is only an alias of others.
ORDER = ("openblas", "mkl_rt", "mkl_core", "blis", "atlas", "blas")


def loaded():
    """{family: path} of the linear algebra libraries in this process."""
    found = {}
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.split(maxsplit=5)[-1]
        match = NAMES.search(path)
        if match:
            found.setdefault(match.group(1), path)
    return found


def in_words(family, path):
    if family == "openblas":
        try:
            config = ctypes.CDLL(path).openblas_get_config
        except (AttributeError, OSError):  # builds with other function names
            return f"OpenBLAS ({Path(path).name})"
        config.restype = ctypes.c_char_p
        words = config().decode().split()
        return " ".join(words[:2] + [word for word in words if word in ("USE_OPENMP", "USE64BITINT")])
    if family == "blas":
        return "reference BLAS" if "/blas/" in path else f"BLAS ({Path(path).name})"
    return f"{family} ({Path(path).name})"


def blas_of_this_process():
    """Call it after a product of matrices: libraries are loaded when they are first needed."""
    found = loaded()
    for family in ORDER:
        if family in found:
            return in_words(family, found[family])
    return "none of its own"


def blas_of_torch(torch):
    """The BLAS of torch's products on the CPU. Wheels carry MKL inside: then only torch itself can tell."""
    torch.rand(64, 64) @ torch.rand(64, 64)
    for line in torch.__config__.show().splitlines():
        version = re.search(r"oneAPI Math Kernel Library Version ([\d.]+)", line) or re.search(
            r"Math Kernel Library Version ([\d.]+)", line)
        if version:
            return f"MKL {version.group(1)}"
    return blas_of_this_process()
