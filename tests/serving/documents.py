"""A model with arbitrary weights, documents, and what parse.py makes of them."""

import random

from parser.decoding.parse_options import TagUse
from parser.model.trained_model import TrainedModel
from parser.serving.service import Request
from tests import parsed_files
from tests.forgery import small_model
from tests.random_models import with_random_weights

WORD = "{}\t{}\t_\tX\t_\t{}\t0\tdep\t_\t_\n"

# Of a model's folder.
EXAMPLE = (
    "# text = Így c d.\n1\tÍgy\t_\tX\t_\tA=b\t_\t_\t_\t_\n2\tc "
    "d\t_\tX\t_\t_\t_\t_\t_\tSpaceAfter=No\n3\t.\t_\tX\t_\t_\t_\t_\t_\t_\n\n"
)


def model_of_kind(kind: str = "plain") -> TrainedModel:
    """Return a small model with weights of the size of trained ones."""
    return with_random_weights(small_model(kind))


def document(seed: int, sentences: int = 3) -> str:
    """CoNLL-U of words that the model knows and others, with comments."""
    rng = random.Random(seed)
    text = ""
    for number in range(sentences):
        text += f"# sent_id = {seed}-{number}\n"
        for place in range(1, rng.randint(2, 12)):
            text += WORD.format(
                place, rng.choice(["a", "b", "é", "<c>"]), rng.choice(["_", "A=b", "A=b|C=d"])
            )
        text += "\n"
    return text


def parsed(model: TrainedModel, text: str, tags: TagUse = TagUse.KEEP) -> str:
    """Return what parse.py writes."""
    return parsed_files.parsed(model, text.encode(), allow_missing_columns=True, tags=tags).decode()


def job(**fields: str) -> Request:
    return Request.of(fields)
