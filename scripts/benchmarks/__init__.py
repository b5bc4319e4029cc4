"""The benchmarks that scripts/benchmark.py runs."""
