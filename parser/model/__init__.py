"""The model: vocabularies, transition system, features and network;
saved to and loaded from a folder.
"""
