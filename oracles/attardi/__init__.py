"""Oracles for the non-projective transition system of Attardi 2006, of any degree: see
oracles.attardi.system.
"""
