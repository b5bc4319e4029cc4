"""What is parsed by parse_many.py, and how it is called."""

import sys

from parser.commands import parse_many

WORDS = "1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n2\tb\t_\t_\t_\t_\t_\t_\t_\t_\n\n"


def run_command(monkeypatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["parse_many.py", *arguments])
    return parse_many.main()
