"""The linear model trained online: static, nondeterministic and exploring, as Goldberg, Sartorio and Satta (2014) compare them.

    python experiments/online.py paths.treebanks=../shared/ud-v2.2
    python experiments/online.py "languages=[hu,got]" seeds=1 ...

The rows of experiments/online/results.csv are published, and are reused (see results.py); yours go to runs/online/results.csv
as trainings end. table.md beside it is the page: scores, the papers' claims with intervals, and what exploring costs.
"""

from __future__ import annotations

from experiments.command import run
from experiments.comparisons import Comparison, main

if __name__ == "__main__":
    run(main, Comparison, "online", __doc__)
