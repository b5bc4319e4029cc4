"""How much is parsed at a time, each size named by its unit. They cost time or memory; no tree depends on them on a CPU."""

# Tokens whose sentences a thread parses together, unless a single one has more. What the words contribute to the hidden layer
# is kept meanwhile: with an encoder, some kilobytes for a token and position.
TOKENS_PER_SPAN = 4_000

# Where several threads have little to share, spans are shorter, but not shorter than this.
FEWEST_TOKENS_PER_SPAN = 1_000

# Tokens whose sentences are searched together where the items of all of them are kept, or all their trees.
TOKENS_PER_SEARCH = 2_000

# Sentences that advance together. More fill the matrix products no better, and cost memory.
SENTENCES_PER_BATCH = 1_024

# Lattices of a file that are parsed together.
LATTICES_PER_BATCH = 200
