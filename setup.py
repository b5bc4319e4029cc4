"""Puts configs/ and data/sample/ into the package of a wheel. In a checkout they lie beside it: not every system has links."""

from pathlib import Path
from shutil import copytree

from setuptools import setup
from setuptools.command.build_py import build_py

SETTINGS = "configs", "data/sample"


class BuildWithSettings(build_py):
    """Builds the packages, and what settings and the sample treebank are read from."""

    def run(self) -> None:
        """Builds them."""
        super().run()
        if not self.editable_mode:
            for name in SETTINGS:
                copytree(name, Path(self.build_lib) / "parser" / name, dirs_exist_ok=True)

    def get_source_files(self) -> list[str]:
        """Return what a source distribution has: the modules, these files, and the files of requirements."""
        found = (path for name in (*SETTINGS, "requirements") for path in Path(name).rglob("*"))
        return [*super().get_source_files(), *(path.as_posix() for path in found if path.is_file())]


setup(cmdclass={"build_py": BuildWithSettings})
