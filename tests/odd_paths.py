"""Names of files and folders with all that shells, hydra and OmegaConf give a meaning to, for the tests of every command."""

# In each, a file system takes every character. The first ones are those of every run of the tests.
ODD = [
    "dir ő (v2)",
    "a=b, [c] {d} $e %f",
    'it\'s "so" ~ $(x) `y`',
    "${seed}",
    "日本語 ~ Ελληνικά",
    "[a,b]",
    "null",
    "1e5",
    "choice(a,b)",
    "x\\y #z;&|<>*?!",
    " blank ",
    "~tilde",
    "-dash:colon@at+plus",
    "'quoted'",
]
