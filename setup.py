"""Builds the extension with CMake, for pip. DIML_CMAKE holds more options for CMake: DIML_CMAKE="-DDIML_TORCH=ON".

DIML_EXTENSION names an extension that is built already, build/release/python/diml/_diml.*.so: nothing is compiled then.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).parent.resolve()
# What the package does not use.
LEFT_OUT = ("CLI", "SERVER", "TESTS", "BENCHMARKS", "YAML", "TORCH")


class CMakeBuild(build_ext):
    def build_extension(self, ext):
        target = Path(self.get_ext_fullpath(ext.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        made = os.environ.get("DIML_EXTENSION") or self.compiled()
        shutil.copyfile(made, target)
        subprocess.run(["strip", "--strip-unneeded", str(target)], check=False)

    def compiled(self):
        build = Path(self.build_temp).resolve() / "cmake"
        build.mkdir(parents=True, exist_ok=True)
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DDIML_PYTHON=ON", f"-DDIML_PYTHON3={sys.executable}"]
        options += [f"-DDIML_{feature}=OFF" for feature in LEFT_OUT]
        if shutil.which("ninja"):
            options += ["-G", "Ninja"]
        options += shlex.split(os.environ.get("DIML_CMAKE", ""))
        subprocess.run(["cmake", "-S", str(HERE), "-B", str(build), *options], check=True)
        jobs = str(self.parallel or os.cpu_count() or 1)
        subprocess.run(["cmake", "--build", str(build), "--target", "diml_python", "--parallel", jobs], check=True)
        made, = (build / "python" / "diml").glob("_diml*.so")
        return made


VERSION = re.search(r"project\(diml VERSION ([0-9.]+)", (HERE / "CMakeLists.txt").read_text()).group(1)
setup(version=VERSION, ext_modules=[Extension("diml._diml", sources=[])], cmdclass={"build_ext": CMakeBuild})
