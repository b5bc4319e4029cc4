"""CoNLL-U of a path through a lattice and a tree over its words."""

from __future__ import annotations

from collections.abc import Sequence

from parser.lattices.lattice import Lattice


def conllu(
    lattice: Lattice,
    arcs: Sequence[int],
    heads: Sequence[int],
    deprels: Sequence[str],
    comments: Sequence[tuple[str, str]] = (),
) -> str:
    """The text of a sentence, the blank line after it included.

    A token of several words, or of one word with another form than its own, has the line of a multiword token.

    Args:
        lattice: the lattice.
        arcs: a path, by the numbers of its arcs.
        heads: [h_1, ..., h_n], by the places of words in the path, 0 = the root.
        deprels: the relations of the words.
        comments: keys and values of further comments, which go after those that are there.

    Raises:
        ValueError: the arcs are not a path, or there are not as many heads or relations.
    """
    if not lattice.is_path(arcs):
        raise ValueError(f"{lattice.where}: arcs {[*arcs]} are not a path")
    rows = list(zip(arcs, heads, deprels, strict=True))
    lines, word = [*lattice.comments, *(f"# {key} = {value}" for key, value in comments)], 0
    for token in lattice.tokens:
        last = word
        while last < len(rows) and lattice.starts[rows[last][0]] < token.end:
            last += 1
        is_word = last - word == 1 and lattice.forms[rows[word][0]] == token.form
        if not is_word:
            lines.append("\t".join([f"{word + 1}-{last}", token.form, *"_______", token.misc]))
        for number, (arc, head, deprel) in enumerate(rows[word:last], word + 1):
            columns = [column[arc] for column in (lattice.forms, lattice.lemmas, lattice.upos, lattice.xpos, lattice.feats)]
            lines.append("\t".join([str(number), *columns, str(head), deprel, "_", token.misc if is_word else "_"]))
        word = last
    return "\n".join([*lines, "", ""])
