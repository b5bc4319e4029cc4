"""2-planar parsing (Gómez-Rodríguez and Nivre 2010): see oracles.two_planar.search."""
