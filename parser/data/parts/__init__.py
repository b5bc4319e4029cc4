"""What an encoder reads of a word, one file a part."""
