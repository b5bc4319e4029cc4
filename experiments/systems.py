"""Transition systems under recipe=accurate: LAS, UAS and non-projective edges of each, and whether they beat arc-standard.

    python experiments/systems.py paths.treebanks=../shared/ud-v2.2
    python experiments/systems.py "languages=[hu]" seeds=1 "variants=[arc_standard,'attardi, degree 2']" ...

The rows of experiments/systems/results.csv are published, and are reused (see engine.py); yours go to runs/systems/results.csv
as trainings end. table.md beside it is the page. UDPipe's lines need the extra ``compare``; without it, name the others in
``variants=``. With ``--config-name=systems_bilstm`` the same with the encoder, one seed.
"""

from experiments.comparison import EXPERIMENT

if __name__ == "__main__":
    EXPERIMENT.run("systems", __doc__)
