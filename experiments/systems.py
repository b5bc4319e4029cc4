"""Transition systems under recipe=accurate: LAS, UAS and non-projective edges of each, and whether they beat arc-standard.

    python experiments/systems.py paths.treebanks=../shared/ud-v2.2
    python experiments/systems.py "languages=[hu]" seeds=1 "variants=[arc_standard,'attardi, degree 2']" ...

The rows of experiments/systems/results.csv are published, and are reused (see results.py); yours go to runs/systems/results.csv
as trainings end. table.md beside it is the page. UDPipe's lines need the extra ``compare``; without it, name the others in
``variants=``. With ``--config-name=systems_bilstm`` the same with the encoder, one seed.
"""

from __future__ import annotations

from experiments.command import run
from experiments.comparisons import Comparison, main

if __name__ == "__main__":
    run(main, Comparison, "systems", __doc__)
