"""Decoding: trees from models; one folder for each algorithm, and files/ for what is read and written."""
