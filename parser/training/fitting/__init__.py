"""How a classifier is fitted to examples, sentences and beams."""
