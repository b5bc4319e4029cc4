"""The commands as scripts. Their code is in parser/commands, where `optimal-step NAME` finds it;
benchmarks/ is not installed.
"""
