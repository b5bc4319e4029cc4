"""A grammar that writes the bundled sample treebank: English-like sentences with their UD trees.

Its sentences hold the decisions that make parsing hard: prepositional phrases that belong to the verb or to the noun by
lexical preference, relative clauses, coordination, and words far from their heads (wh-extraction, stranded prepositions,
extraposed relative clauses, standards of comparison), so that some of the trees are non-projective. ``treebank`` puts
the parts together, ``sentences`` > ``clauses`` > ``noun_phrases`` and ``verb_groups`` > ``lexicon`` is the grammar.
"""
