"""Stands in for the package ``experiments`` where one of its files is run:
``python experiments/table7.py``.

Python then looks for the package in this folder first, and finds this file. It puts the package of
this checkout in its place, with the checkout's parser, oracles and scripts, so that pip install
need not have been told -e.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

_HERE = Path(__file__).resolve().parent

if __name__ == "experiments":
    sys.path[:] = [
        str(_HERE.parent) if path and Path(path).resolve() == _HERE else path for path in sys.path
    ]
    del sys.modules["experiments"]
    import_module("experiments")
