"""The fitting of a classifier to examples, sentences and beams."""
