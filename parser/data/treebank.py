"""Gold data: sentences with their trees, read from CoNLL-U as strictly as what is parsed (conllu/stream.py).

Beyond what parsing asks for, gold data is text in UTF-8, its trees have exactly one root, and every sentence has words. Words
alone are kept: multiword tokens and empty nodes are not nodes of the tree; they are counted and left out. Sentences with faults
are, too, if that is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, NamedTuple

from parser.conllu.checks import (
    BYTE_ORDER_MARK,
    DEPREL,
    FEATS,
    FORM,
    LEMMA,
    UNKNOWN_HEAD,
    UPOS,
    XPOS,
    ConlluError,
    counted,
    is_blank,
)
from parser.conllu.files import open_input
from parser.conllu.stream import RawSentence, read_raw_sentences, read_sentences

if TYPE_CHECKING:
    from oracles import Trees


# By form, deprel and head of a word; of those whose head is known.
_ODDITIES: dict[str, Callable[[str, str, int], bool]] = {
    "FORM is empty": lambda form, deprel, head: not form,
    "DEPREL is empty": lambda form, deprel, head: deprel in ("", "_"),
    "DEPREL of the root is not root": lambda form, deprel, head: head == 0 and deprel != "root",
    "DEPREL is root, and HEAD is not 0": lambda form, deprel, head: head != 0 and deprel == "root",
}


# An error lists as many faults.
_LISTED = 20


class TreebankError(ConlluError):
    """A treebank cannot be used as gold data. The message names the file, the line, the sentence and the fix."""


@dataclass(slots=True)
class Sentence:
    """The words 1..n of one sentence, one list per column; the entry of word i is at index i - 1.

    Attributes:
        forms, lemmas, upos, xpos, feats, deprels: the columns as written, ``_`` included; relations with their subtypes.
        heads: the heads [h_1, ..., h_n], 0 = the artificial root; UNKNOWN_HEAD only in a partial treebank.
        where: file, first line, number and sent_id, with which to begin an error message about the sentence.
        lengths: of a path through a lattice, the nodes that each word advances by, as text; None: one.
        treebank: which it is from, where there are several.
    """

    forms: list[str]
    lemmas: list[str]
    upos: list[str]
    xpos: list[str]
    feats: list[str]
    heads: list[int]
    deprels: list[str]
    where: str
    lengths: list[str] | None = None
    treebank: str | None = None

    def __len__(self) -> int:
        return len(self.forms)


class Fault(NamedTuple):
    """Why a sentence is not gold data.

    Attributes:
        message: with the place.
        in_parsing: whether parsing refuses it, too.
        leaves_out: whether a sentence is left out for it: for the first of its faults.
        in_file: whether no sentence can be left out for it, as the file is damaged or in another encoding.
        ends: whether nothing after it was read.
    """

    message: str
    in_parsing: bool
    leaves_out: bool = True
    in_file: bool = False
    ends: bool = False

    @property
    def kind(self) -> str:
        """The message without its place, numbers, quotations and fix."""
        place = r"^(.*?, line \d+(, sentence \d+( \(sent_id .*?\))?)?|.*?): "
        message = re.sub(place, "", self.message, count=1, flags=re.DOTALL)
        return re.sub(r"'.*?'|\d[\d,.-]*", "...", re.split(r"[:;(]", message, maxsplit=1)[0], flags=re.DOTALL).strip()


@dataclass
class Treebank:
    """The sentences of a file, in order, and what was left out of it."""

    path: str
    sentences: list[Sentence] = field(default_factory=list)
    n_multiword_tokens: int = 0
    n_empty_nodes: int = 0
    faults: list[Fault] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, s: int) -> Sentence:
        return self.sentences[s]

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    @cached_property
    def n_words(self) -> int:
        """Number of words."""
        return sum(map(len, self.sentences))

    @cached_property
    def trees(self) -> Trees:
        """The gold trees, packed for the oracles."""
        from oracles import Trees  # brings the compiled kernels, which reading by itself does not need

        return Trees.from_heads((sentence.heads for sentence in self.sentences), partial=True)

    @cached_property
    def n_known_heads(self) -> int:
        """Number of words whose head is known."""
        return sum(head != UNKNOWN_HEAD for sentence in self.sentences for head in sentence.heads)

    @property
    def projective_subset(self) -> list[Sentence]:
        """The sentences whose tree is projective."""
        return [sentence for sentence, projective in zip(self.sentences, self.trees.projective, strict=True) if projective]

    @cached_property
    def nonprojective_percent(self) -> float:
        """Percentage of the sentences whose tree, with the artificial root at the left, is not projective."""
        return 100 * float((~self.trees.projective).mean())

    @property
    def summary(self) -> dict[str, int | float]:
        """What was read, under the keys of metrics.json and those of what was left out."""
        return {
            "sentences": len(self),
            "words": self.n_words,
            **({} if self.n_known_heads == self.n_words else {"known_heads": self.n_known_heads}),
            "nonprojective_percent": self.nonprojective_percent,
            "multiword_tokens_skipped": self.n_multiword_tokens,
            "empty_nodes_skipped": self.n_empty_nodes,
            "sentences_skipped": self.n_left_out,
        }

    @property
    def n_left_out(self) -> int:
        """Number of sentences that were left out for their faults."""
        return sum(fault.leaves_out for fault in self.faults)

    def oddities(self) -> str:
        """What is read, but is probably a mistake: how many words, and where the first one is; empty if nothing is odd."""
        found = []
        for kind, is_odd in _ODDITIES.items():
            words = ((s.where, word) for s in self.sentences for word in zip(s.forms, s.deprels, s.heads, strict=True))
            places = [where for where, word in words if word[2] != UNKNOWN_HEAD and is_odd(*word)]
            if places:
                first = places[0].removeprefix(f"{self.path}, ")
                found.append(f"{kind} in {counted(len(places), 'word')} (the first in {first})")
        return "; ".join(found)

    def __str__(self) -> str:
        read = f"{counted(len(self), 'sentence')}, {counted(self.n_words, 'word')}"
        if self.n_known_heads < self.n_words:
            read += f", of which the heads of {self.n_known_heads:,} are known"
        read += f", {self.nonprojective_percent:.1f}% non-projective trees"
        skipped = f"{counted(self.n_multiword_tokens, 'multiword token')}, {counted(self.n_empty_nodes, 'empty node')}"
        if self.n_left_out:
            skipped += f", {counted(self.n_left_out, 'faulty sentence')}"
        return f"{self.path}: {read} (skipped: {skipped})"


def read_treebank(path: str | Path, skip: bool = False, partial: bool = False) -> Treebank:
    """Reads a file of gold trees: CoNLL-U in UTF-8, plain or compressed as its name says; BOM and CRLF are fine.

    Args:
        path: of the file.
        skip: whether sentences with faults are left out.
        partial: whether HEAD and DEPREL may be ``_`` where they are not known.

    Raises:
        TreebankError: no such file, not CoNLL-U, a sentence that is not a tree with exactly one root, or no sentence. It lists
            the first faults.
    """
    treebank = with_faults(path, partial)
    if treebank.faults and not (skip and treebank.sentences and not any(fault.in_file for fault in treebank.faults)):
        told = listed(treebank.faults, can_skip=not skip and bool(treebank.sentences))
        fix = "; treebank.partial=true trains on trees that are known in part"
        raise TreebankError(told if partial else re.sub("(the head '_' .*)", rf"\1{fix}", told))
    return treebank


def with_faults(path: str | Path, partial: bool = False) -> Treebank:
    """What can be used of a file, perhaps nothing, with the faults of the rest; ``partial``: see read_treebank()."""
    treebank = Treebank(str(path))
    faults = treebank.faults
    try:
        with open_input(path) as stream:
            for sentence in read_raw_sentences(_without_nul(stream, treebank.path), treebank.path, strict=False):
                gold, of_sentence = None, _not_utf8(sentence)
                try:
                    gold = _gold_sentence(sentence, partial)
                except ConlluError as error:
                    of_sentence += [Fault(*one) for one in sentence.faults(partial) or [(str(error), False)]]
                faults += [fault._replace(leaves_out=number == 0) for number, fault in enumerate(of_sentence)]
                if gold is not None and not of_sentence:
                    treebank.sentences.append(gold)
                    treebank.n_multiword_tokens += len(sentence.multiwords)
                    treebank.n_empty_nodes += len(sentence.empty_nodes)
    except ConlluError as error:
        faults.append(Fault(str(error), not isinstance(error, TreebankError), in_file=True, ends=True))
    if not (treebank.sentences or faults):
        fault = f"{path}: there is no sentence in this file; name a CoNLL-U file that has some"
        faults.append(Fault(fault, False, in_file=True))
    elif treebank.sentences and not treebank.n_known_heads:
        fault = f"{path}: no head is known, so there is nothing to learn; give HEAD of some words"
        faults.append(Fault(fault, False, in_file=True))
    return treebank


def _not_utf8(sentence: RawSentence) -> list[Fault]:
    """The lines that are not text in UTF-8; what is parsed may hold any bytes, gold data may not."""
    try:
        "".join(sentence.lines).encode()
    except UnicodeEncodeError:
        pass
    else:
        return []
    faults = []
    for number, line in enumerate(sentence.lines, sentence.first_line):
        try:
            line.encode("utf-8", "surrogateescape").decode()
        except UnicodeDecodeError as error:
            fault = f"{sentence.path}, line {number}: this is not UTF-8 ({error.reason}); convert it to UTF-8"
            faults.append(Fault(fault, False, in_file=True))
    return faults


def listed(faults: Sequence[Fault], can_skip: bool = False) -> str:
    """The first faults, a line each, and how many there are; ``can_skip``: training can do without them, if it is told to."""
    lines = [fault.message for fault in faults[:_LISTED]]
    if len(faults) > 1:
        first = f", of which these are the first {_LISTED}" if len(faults) > _LISTED else ""
        skips = can_skip and not any(fault.in_file for fault in faults)
        skip = "; treebank.on_error=skip trains without these sentences" if skips else ""
        lines.append(f"{len(faults):,} faults{first}; optimal-step check FILE lists all{skip}")
    return "\n".join(lines)


def read_treebanks(
    paths: Sequence[str | Path], skip: bool = False, names: Sequence[str] = (), partial: bool = False
) -> Treebank:
    """Several files as one treebank, in their order; otherwise as read_treebank().

    ``names``: the treebank that each file belongs to; without, sentences do not say it.
    """
    parts = [read_treebank(path, skip, partial) for path in paths]
    for part, name in zip(parts, names, strict=False):
        for sentence in part:
            sentence.treebank = name
    if len(parts) == 1:
        return parts[0]
    return Treebank(
        " + ".join(part.path for part in parts),
        [sentence for part in parts for sentence in part],
        sum(part.n_multiword_tokens for part in parts),
        sum(part.n_empty_nodes for part in parts),
        [fault for part in parts for fault in part.faults],
    )


@dataclass(frozen=True)
class PartFiles:
    """Where the sentences of a part are read.

    Attributes:
        paths: files of CoNLL-U, one at least.
        names: the treebank that each file belongs to; none where there are no several treebanks.
    """

    paths: Sequence[str]
    names: Sequence[str] = ()


@dataclass(frozen=True)
class TrainingFiles:
    """Where training sentences are read, and which of them become other parts; the same whoever reads them.

    Attributes:
        paths, names: see PartFiles.
        skip: whether sentences with faults are left out.
        held_out: the shares of the sentences that are the dev part and the test part.
        fold: k and n: the test part is the k-th of every n sentences, k from 1; None: there are no folds.
        partial: whether HEAD and DEPREL may be ``_`` where they are not known, in the other parts, too.
    """

    paths: Sequence[str]
    skip: bool = False
    held_out: Sequence[float] = (0.0, 0.0)
    fold: Sequence[int] | None = None
    names: Sequence[str] = ()
    partial: bool = False

    def read(self) -> Treebank:
        """All of the sentences; see read_treebanks()."""
        return read_treebanks(self.paths, self.skip, self.names, self.partial)

    def split(self, treebank: Treebank) -> tuple[Treebank, Treebank | None, Treebank | None]:
        """What of the sentences is the training part, and those held out of it for dev and test, None if there are none.

        Raises:
            TreebankError: there are not enough sentences.
        """
        test = None
        if self.fold is not None:
            number, folds = self.fold
            if len(treebank) < folds:
                few = f"{treebank.path}: {counted(len(treebank), 'sentence')} cannot be {folds} folds"
                raise TreebankError(f"{few}; lower treebank.folds")
            treebank, test = _taken(treebank, folds, number, f"fold {number} of {folds}")
        treebank, dev = without_held_out(treebank, self.held_out[0])
        if test is None:
            treebank, test = without_held_out(treebank, self.held_out[1] / (1 - self.held_out[0]))
        return treebank, dev, test

    def as_files(self, dev: PartFiles | None, folder: Path) -> tuple[list[str], str | None]:
        """Files of the training part and the dev part, for who reads files and knows nothing of sentences that are left out.

        Args:
            dev: the dev part, if it is not held out.
            folder: where files are written, unless all sentences of those that there are belong to the part.
        """
        if not (self.skip or self.fold is not None or any(self.held_out)) and (dev is None or len(dev.paths) == 1):
            return [*self.paths], None if dev is None else dev.paths[0]
        train, held_out, _ = self.split(read_treebanks(self.paths, self.skip, partial=self.partial))
        made = _copied(train, self.paths, folder / "train.conllu")
        if dev is not None:
            return [made], _copied(read_treebanks(dev.paths, self.skip, partial=self.partial), dev.paths, folder / "dev.conllu")
        return [made], None if held_out is None else _copied(held_out, self.paths, folder / "dev.conllu")


def without_held_out(treebank: Treebank, share: float) -> tuple[Treebank, Treebank | None]:
    """The treebank without a share of its sentences, and these as a treebank, None if the share is 0.

    They are every k-th sentence, k = 1 / share rounded, so that they come from all over the files and are always the same.

    Raises:
        TreebankError: there are fewer than k sentences.
    """
    if not share:
        return treebank, None
    every = max(2, round(1 / share))
    if len(treebank) < every:
        fix = "raise treebank.held_out" if len(treebank) > 1 else "leave treebank.held_out= out, or give more sentences"
        few = f"{treebank.path}: one sentence in {every} cannot be held out of {counted(len(treebank), 'sentence')}"
        raise TreebankError(f"{few}; {fix}")
    return _taken(treebank, every, every, f"one sentence in {every}, held out")


def _taken(treebank: Treebank, every: int, number: int, name: str) -> tuple[Treebank, Treebank]:
    """The treebank without the given one of ``every`` sentences, counted from 1, and those as a treebank with this name."""
    taken = treebank.sentences[number - 1 :: every]
    kept = [sentence for place, sentence in enumerate(treebank.sentences, 1) if (place - number) % every]
    train = Treebank(treebank.path, kept, treebank.n_multiword_tokens, treebank.n_empty_nodes, treebank.faults)
    return train, Treebank(f"{treebank.path} ({name})", taken)


def _copied(treebank: Treebank, paths: Sequence[str], target: Path) -> str:
    """The name of a file to which the sentences of a treebank are written, as they stand in those that it was read from."""
    with open(target, "w", encoding="utf-8", newline="") as written:
        written.writelines(text for text, _ in read_again(treebank.sentences, paths))
    return str(target)


def read_again(sentences: Iterable[Sentence], paths: Sequence[str]) -> Iterator[tuple[str, RawSentence]]:
    """Yield sentences again, each as it stands in the files that it was read from: its CoNLL-U, and what is in it."""
    wanted = {sentence.where for sentence in sentences}
    for path in paths:
        for sentence in read_sentences(path, strict=False):
            if sentence.place(_first_line(sentence)) in wanted:
                yield "".join(sentence.lines).removeprefix(BYTE_ORDER_MARK).rstrip("\r\n") + "\n\n", sentence


def _without_nul(stream: Iterable[bytes], path: str) -> Iterator[bytes]:
    """The lines of a file, as far as they can be text."""
    for number, line in enumerate(stream, 1):
        if b"\0" in line:
            raise TreebankError(f"{path}, line {number}: a NUL byte, so this is not text; name a CoNLL-U file")
        yield line


def _first_line(sentence: RawSentence) -> int:
    return next((place for place, line in enumerate(sentence.lines) if not is_blank(line)), 0)


def _gold_sentence(sentence: RawSentence, partial: bool) -> Sentence | None:
    """None of lines without words."""
    if sentence.error is not None:
        raise sentence.error
    if not len(sentence):
        if sentence.empty_nodes:
            place = sentence.place(sentence.empty_nodes[0])
            raise TreebankError(f"{place}: a sentence without words; a sentence needs at least one word")
        return None

    def column(number: int) -> list[str]:
        # Interned, because a treebank repeats itself: 5 MB where 20 would be, for 42,000 words of Greek.
        return [intern(value) for value in sentence.column(number)]

    return Sentence(
        forms=column(FORM),
        lemmas=column(LEMMA),
        upos=column(UPOS),
        xpos=column(XPOS),
        feats=column(FEATS),
        heads=sentence.heads(partial=partial),
        deprels=column(DEPREL),
        where=sentence.place(_first_line(sentence)),
    )
