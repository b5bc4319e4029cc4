"""Names of files and folders with all that shells, hydra and OmegaConf give a meaning to, for the
tests of every command.
"""

import os

# The first two are those of every run of the tests. Windows has no names with some of these
# characters, or blanks at the end.
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
if os.name == "nt":
    ODD = [name for name in ODD if not set(name) & set('<>:"|?*\\') and name == name.strip()]
