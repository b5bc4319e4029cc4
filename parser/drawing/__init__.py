"""Pictures of dependency trees, one drawn against another where there are two: for the terminal, as SVG, as a page of HTML.

Libraries that draw such trees were looked at first. displaCy (of spaCy) sets every word 175 pixels from the next, so that 40
words are 7,000 pixels wide and long words run into each other; deplacy and udapi draw in the terminal. None of them draws two
trees of the same words as one picture, which is what shows a parser's errors; so this package is small code of our own without
dependencies.
"""

from parser.drawing.drawn_tree import DrawnArc, DrawnTree

__all__ = ["DrawnArc", "DrawnTree"]
