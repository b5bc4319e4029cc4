"""Writes the bundled sample treebank: python scripts/make_sample_treebank.py [FOLDER]; the same bytes every time."""

from __future__ import annotations

import argparse
from pathlib import Path

from data.sample_grammar.treebank import file_name, make_parts

FOLDER = Path(__file__).resolve().parent.parent / "data" / "sample"


def main(arguments: list[str] | None = None) -> None:
    """Writes the three parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, metavar="FOLDER", help="default: data/sample")
    folder = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    for part, content in make_parts().items():
        path = folder / file_name(part)
        path.write_bytes(content.encode())
        print(f"{path.name}: {content.count('# sent_id')} sentences")


if __name__ == "__main__":
    main()
