"""Projective trees from any trees: optimal (Nederhof 2019, Section 3), and by lifting (Nivre and Nilsson 2005)."""
