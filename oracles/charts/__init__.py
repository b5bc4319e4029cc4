"""Charts over the tokens of a sentence, which depend on its gold tree alone, and the memory that they are kept in."""
