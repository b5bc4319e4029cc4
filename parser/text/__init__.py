"""From text to sentences and words."""
