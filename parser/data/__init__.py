"""Sentences as integers: treebanks, vocabularies, word vectors."""
