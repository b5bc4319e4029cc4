"""What an encoder reads of a word, one file a part; part.py says what a part is."""

from parser.data.parts.characters import Characters
from parser.data.parts.part import WordPart
from parser.data.parts.pretrained import PretrainedTokenizer
from parser.data.parts.subwords import Subwords

PARTS: list[type[WordPart]] = [Subwords, Characters, PretrainedTokenizer]
"""All besides attributes, in the order of their rows and vectors."""
