"""The bodies of scripts/benchmark.py."""
