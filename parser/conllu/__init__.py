"""CoNLL-U files: opened, checked, read as lines or as bytes,
and written with other trees and nothing else changed.
"""
