"""Puts configs/ and data/sample/ into the package of a wheel. In a checkout they lie beside it: not every system has links."""

from pathlib import Path
from shutil import copytree

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithSettings(build_py):
    """Builds the packages, and what settings and the sample treebank are read from."""

    def run(self) -> None:
        """Builds them."""
        super().run()
        if not self.editable_mode:
            for name in ("configs", "data/sample"):
                copytree(name, Path(self.build_lib) / "parser" / name, dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithSettings})
