"""Settings: what is refused, and the plans that they come to."""
