"""The parser as a library, ``from parser import Parser``,
and as a component of spaCy's pipelines (spacy_component.py).
"""

from oracles.errors import OptimalStepError as OptimalStepError
from parser.beam_settings import BeamError as BeamError
from parser.conllu.checks import ConlluError as ConlluError
from parser.decoding.files.missing_columns import MissingColumnsError as MissingColumnsError
from parser.decoding.given_arcs import GivenArcsError as GivenArcsError
from parser.decoding.parse_options import NoTagsError as NoTagsError
from parser.inference.weights import Int8Error as Int8Error
from parser.library.parsed_sentence import InputError as InputError
from parser.library.parsed_sentence import ParsedSentence as ParsedSentence
from parser.library.parsed_sentence import ParsedWord as ParsedWord
from parser.library.parsed_sentence import Word as Word
from parser.library.parser import Parser as Parser
from parser.model_folder import ModelError as ModelError
from parser.text.tokens import Token as Token
from parser.text.tokens import TokenizerError as TokenizerError
