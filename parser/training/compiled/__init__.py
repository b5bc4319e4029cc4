"""Updates of the MLP on a CPU, in compiled loops; the reference implementation is autograd."""
