"""What a sentence is as integers: treebanks, vocabularies, word vectors."""
