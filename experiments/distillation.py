"""What a parser without an encoder gains from the distributions of one that has one (parser/training/examples/teacher.py).

    python experiments/distillation.py paths.treebanks=../shared/ud-v2.2
    python experiments/distillation.py "languages=[got]" seeds=1 "variants=[mlp,bilstm,'all steps, weight 2']" ...

Variants are those of configs/experiments/distillation.yaml. One that has settings ``distillation.*`` is taught by the variant
``teacher``, trained on the same treebank with the same seed, before it. The rows of experiments/distillation/results.csv are
published, and are reused (see engine.py); yours go to runs/distillation/results.csv as trainings end. table.md beside it is
the page: test, the claims, and dev, to choose on.
"""

from experiments.comparison import EXPERIMENT

if __name__ == "__main__":
    EXPERIMENT.run("distillation", __doc__)
