"""Batch sizes, named by their units: large batches fill matrix products better, and cost memory.

Sizes of parsing cost time or memory; on a CPU no tree depends on them.
Sizes of training change how its sums are rounded.
"""

# --- Parsing

# Bytes of a file that are read at a time; a chunk is the whole sentences among them.
BYTES_PER_CHUNK = 2**18

# Tokens of the sentences that a thread parses together, unless a single one has more. Meanwhile it
# keeps the contributions of the words to the hidden layer: with an encoder, some kilobytes for a
# token and position.
TOKENS_PER_SPAN = 4_000

# If several threads share a small input, spans are shorter, but at least this long.
FEWEST_TOKENS_PER_SPAN = 1_000

# Tokens of the sentences that are searched together where the items of all these sentences, or all
# their trees, are kept.
TOKENS_PER_SEARCH = 2_000

# Sentences that advance together. More would not fill matrix products better, and would cost
# memory.
SENTENCES_PER_BATCH = 1_024

# Lattices of a file that are parsed together.
LATTICES_PER_BATCH = 200

# Characters of requests that a server works on together, or one document if it has more.
CHARACTERS_PER_ANSWER = 500_000

# --- Frozen networks

# Distinct token types whose vectors an encoder makes together.
TYPES_PER_ENCODING = 256

# Distinct token types whose rows a thread precomputes together: with 256 hidden units,
# half a megabyte of activations.
# With fewer, values that types share are computed more often.
TYPES_PER_BATCH = 512

# Tokens whose pretrained vectors are in memory together: with 13 layers of 1,024 numbers, 27 MB.
TOKENS_PER_PRETRAINED_READ = 1_000

# Pieces that a pretrained encoder reads together without torch: with 1,536 hidden units, 3 MB.
PIECES_PER_READ = 512

# Tokens whose arcs a biaffine scorer scores together, at 7 to 13 kilobytes each:
# they stay in a processor's cache.
TOKENS_PER_SCORING = 256

# Tokens whose windows a segmenter reads together, unless a single one has more: with 150 units,
# 25 MB.
TOKENS_PER_SEGMENTING = 5_120

# --- Networks in torch

# Tokens that are encoded together: enough to fill the matrix products,
# and few enough for sentences of similar length.
TOKENS_PER_ENCODING = 1_000

# Windows that a pretrained encoder reads together; on a device, as many sentences.
WINDOWS_PER_BATCH = 32

# --- Training

# Sentences that explore together: limits memory; far fewer would fill a matrix product.
SENTENCES_PER_EXPLORATION = 4_096

# Words between two updates of a lemmatizer.
WORDS_PER_LEMMA_UPDATE = 64
