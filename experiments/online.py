"""The linear model trained online: static, nondeterministic and exploring, as Goldberg, Sartorio and Satta (2014) compare them.

    python experiments/online.py paths.treebanks=../shared/ud-v2.2
    python experiments/online.py "languages=[hu,got]" seeds=1 ...

The rows of experiments/online/results.csv are published, and are reused (see engine.py); yours go to runs/online/results.csv
as trainings end. table.md beside it is the page: scores, the papers' claims with intervals, and what exploring costs.
"""

from experiments.comparison import EXPERIMENT

if __name__ == "__main__":
    EXPERIMENT.run("online", __doc__)
