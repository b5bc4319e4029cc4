"""The commands: `optimal-step NAME`, or scripts/NAME.py of a checkout; a module each, with a function ``command``."""
