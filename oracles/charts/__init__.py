"""Charts over the tokens of a sentence, which depend only on its gold tree,
and the memory that they are kept in.
"""
