"""Oracles for LR-spine parsing (Sartorio, Satta and Nivre 2013);
see oracles.lr_spine.configuration for its transitions.
"""
