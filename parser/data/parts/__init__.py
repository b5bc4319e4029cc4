"""The parts of a word that an encoder reads, a file each; part.py has their interface."""

from parser.data.parts.characters import Characters
from parser.data.parts.part import WordPart
from parser.data.parts.pretrained import PretrainedTokenizer
from parser.data.parts.subwords import Subwords

PARTS: list[type[WordPart]] = [Subwords, Characters, PretrainedTokenizer]
"""All parts except attributes, in the order of their rows and vectors."""
