"""Puts configs/, data/sample/ and the model ``en`` into the package of a wheel. In a checkout they
lie beside it: not every system has links. The other models of models/ are too large for that.
"""

from pathlib import Path
from shutil import copyfile, copytree

from setuptools import setup
from setuptools.command.build_py import build_py

SETTINGS = "configs", "data/sample"
MODELS = "models/index.json", "models/README.md", "models/en.zip"


class BuildWithSettings(build_py):
    """Build the packages, and what settings and the sample treebank are read from."""

    def run(self) -> None:
        """Build them."""
        super().run()
        if not self.editable_mode:
            for name in SETTINGS:
                copytree(name, Path(self.build_lib) / "parser" / name, dirs_exist_ok=True)
            for name in MODELS:
                target = Path(self.build_lib) / "parser" / name
                target.parent.mkdir(exist_ok=True)
                copyfile(name, target)

    def get_source_files(self) -> list[str]:
        """Return what a source distribution has: the modules, these files,
        and the files of requirements.
        """
        found = (path for name in (*SETTINGS, "requirements") for path in Path(name).rglob("*"))
        return [
            *super().get_source_files(),
            *MODELS,
            *(path.as_posix() for path in found if path.is_file()),
        ]


setup(cmdclass={"build_py": BuildWithSettings})
