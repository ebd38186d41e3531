"""Builds the library with Go beside the Python files; a wheel has it for one platform and any Python 3."""

import pathlib
import subprocess

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent


class BuildWithLibrary(build_py):
    """Compiles cmd/libtiergate into the package."""

    def run(self) -> None:
        super().run()
        target = pathlib.Path(self.build_lib) / "tiergate" / "libtiergate.so"
        subprocess.run(
            ["go", "build", "-trimpath", "-ldflags=-s -w", "-buildmode=c-shared", f"-o={target.resolve()}", "./cmd/libtiergate"],
            cwd=HERE.parent,
            check=True,
        )
        target.with_suffix(".h").unlink(missing_ok=True)  # Go writes one; tiergate.h is the one that is documented


class PlatformWheel(bdist_wheel):
    """Tags the wheel for this platform, without tying it to one Python."""

    def get_tag(self) -> tuple:
        return ("py3", "none", super().get_tag()[2])


class Binary(Distribution):
    """Says that the wheel is not pure."""

    def has_ext_modules(self) -> bool:
        return True


setup(cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel}, distclass=Binary)
