"""The oracle of the pointer system (Fernández-González and Gómez-Rodríguez 2019): see
oracles.pointer.cycles.
"""
