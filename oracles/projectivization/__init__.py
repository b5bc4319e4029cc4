"""Making trees projective: optimally (Nederhof 2019, Section 3),
or by lifting (Nivre and Nilsson 2005).
"""
