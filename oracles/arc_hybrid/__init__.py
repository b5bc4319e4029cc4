"""Oracles for arc-hybrid parsing (Kuhlmann, Gómez-Rodríguez and Satta 2011): see
oracles.arc_hybrid.local.
"""
