"""How what parser/text reads is learned: the tokenizer, and the segmenter."""
