"""Writes the bundled sample treebank: ``python scripts/make_sample_treebank.py [FOLDER]`` (default: data/sample)."""

from __future__ import annotations

import sys
from pathlib import Path

from sample_treebank.treebank import file_name, make_parts


def main() -> None:
    """Writes the three parts."""
    default = Path(__file__).resolve().parent.parent / "data" / "sample"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    folder.mkdir(parents=True, exist_ok=True)
    for part, content in make_parts().items():
        path = folder / file_name(part)
        path.write_bytes(content.encode())
        print(f"{path.name}: {content.count('# sent_id')} sentences")


if __name__ == "__main__":
    main()
