"""Files parsed chunk by chunk, without a change to any other byte."""
