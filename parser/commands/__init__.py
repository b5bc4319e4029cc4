"""The commands: `optimal-step NAME`, or scripts/NAME.py in a checkout; one module each,
with a function ``command``.
"""
