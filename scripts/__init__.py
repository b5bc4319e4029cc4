"""The commands; what they share is imported by full name, `from scripts.benchmarks import udpipe`."""
