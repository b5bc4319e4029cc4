"""recipe=accurate beside UDPipe 1, both trained on the same files with gold tags; test metrics.

    python experiments/accurate.py paths.treebanks=../shared/ud-v2.2

The rows of experiments/accurate/results.csv are published, and are reused (see engine.py); yours go to
runs/accurate/results.csv as trainings end. table.md beside it is the comparison. UDPipe needs the extra ``compare``; without
it, say ``systems=[accurate]``.

With ``--config-name=unseen`` it covers treebanks on which nothing was chosen, trained on their dev part, tested on test.
"""

from experiments.comparison import EXPERIMENT

if __name__ == "__main__":
    EXPERIMENT.run("accurate", __doc__)
