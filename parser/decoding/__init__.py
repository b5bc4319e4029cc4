"""Decoding: trees from models; one folder for each algorithm, and files/ for input and output."""
