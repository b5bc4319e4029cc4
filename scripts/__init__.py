"""The commands as files, whose code is in parser/commands, where `optimal-step NAME` finds it;
benchmarks/ is not installed.
"""
