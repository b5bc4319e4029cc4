"""Gold data: sentences with their trees, read from CoNLL-U as strictly as the input of parsing
(conllu/stream.py).

Gold data must meet further conditions: it is text in UTF-8, its trees have exactly one root, and
every sentence has words. Only words are kept; multiword tokens and empty nodes, which are not nodes
of the tree, are counted and left out. On request, sentences with faults are left out as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, NamedTuple

from oracles.errors import did_you_mean
from parser.conllu.checks import (
    BYTE_ORDER_MARK,
    DEPREL,
    EMPTY,
    FEATS,
    FORM,
    LEMMA,
    UNKNOWN_HEAD,
    UPOS,
    XPOS,
    ConlluError,
    counted,
    is_blank,
    shortened,
)
from parser.conllu.files import open_input
from parser.conllu.formats import TO_UTF8
from parser.conllu.stream import RawSentence, read_raw_sentences, read_sentences

if TYPE_CHECKING:
    from oracles import Trees


# Conditions on form, deprel and head of a word whose head is known.
_ODDITIES: dict[str, Callable[[str, str, int], bool]] = {
    "FORM is empty": lambda form, deprel, head: not form,
    "DEPREL is empty": lambda form, deprel, head: deprel in ("", "_"),
    "DEPREL of the root is not root": lambda form, deprel, head: head == 0 and deprel != "root",
    "DEPREL is root, and HEAD is not 0": lambda form, deprel, head: head != 0 and deprel == "root",
}


# The values of UPOS in Universal Dependencies: https://universaldependencies.org/u/pos/
UD_TAGS = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
)

# The beginning of the names of UD's files: the language, and the treebank.
_UD_NAME = re.compile(r"([a-z]{2,3})_[a-z0-9]+-ud-")

# How many faults an error lists.
_LISTED = 20


class TreebankError(ConlluError):
    """A treebank cannot be used as gold data. The message names the file, the line,
    the sentence and the fix.
    """


@dataclass(slots=True)
class Sentence:
    """The words 1..n of one sentence, one list per column; the entry of word i is at index i - 1.

    Attributes:
        forms, lemmas, upos, xpos, feats, deprels: the columns as written, ``_`` included;
            relations with their subtypes.
        heads: the heads [h_1, ..., h_n], 0 = the artificial root;
            UNKNOWN_HEAD only in a partial treebank.
        where: file, first line, number and sent_id:
            the beginning of an error message about the sentence.
        lengths: in a path through a lattice, how many nodes each word advances by, as text;
            None: one.
        treebank: the name of its treebank, if there are several.
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


def _odd_tags(upos: Iterable[str]) -> list[str]:
    """Return the values of UPOS that Universal Dependencies does not have."""
    return [tag for tag in upos if tag != EMPTY and tag not in UD_TAGS]


class Fault(NamedTuple):
    """A reason that a sentence is not gold data.

    Attributes:
        message: includes the place.
        in_parsing: whether parsing also refuses it.
        leaves_out: whether it is the first fault of its sentence, which is left out.
        in_file: whether the fault is in the file, such as another encoding:
            leaving out sentences does not help.
        ends: whether reading stopped there.
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
        return re.sub(
            r"'.*?'|\d[\d,.-]*", "...", re.split(r"[:;(]", message, maxsplit=1)[0], flags=re.DOTALL
        ).strip()


@dataclass
class Treebank:
    """The sentences of a file, in order, and counts of what was left out.

    ``odd_upos_left_out`` has, for the sentences with faults, the place and the tag of each word
    with a UPOS that UD does not have.
    """

    path: str
    sentences: list[Sentence] = field(default_factory=list)
    n_multiword_tokens: int = 0
    n_empty_nodes: int = 0
    faults: list[Fault] = field(default_factory=list)
    odd_upos_left_out: list[tuple[str, str]] = field(default_factory=list)

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
        # loads the compiled kernels, which reading by itself does not need
        from oracles import Trees

        return Trees.from_heads((sentence.heads for sentence in self.sentences), partial=True)

    @cached_property
    def n_known_heads(self) -> int:
        """Number of words whose head is known."""
        return sum(head != UNKNOWN_HEAD for sentence in self.sentences for head in sentence.heads)

    @property
    def projective_subset(self) -> list[Sentence]:
        """The sentences whose tree is projective."""
        return [
            sentence
            for sentence, projective in zip(self.sentences, self.trees.projective, strict=True)
            if projective
        ]

    @cached_property
    def nonprojective_percent(self) -> float:
        """Percentage of the sentences whose tree, with the artificial root at the left,
        is not projective.
        """
        return 100 * float((~self.trees.projective).mean())

    @property
    def summary(self) -> dict[str, int | float]:
        """Counts of what was read and left out, under the keys of metrics.json."""
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
        """Return the probable mistakes: how many words, and the place of the first one;
        empty if there are none.
        """
        oddities = []
        for kind, is_odd in _ODDITIES.items():
            words = (
                (s.where, word)
                for s in self.sentences
                for word in zip(s.forms, s.deprels, s.heads, strict=True)
            )
            places = [where for where, word in words if word[2] != UNKNOWN_HEAD and is_odd(*word)]
            if places:
                first = places[0].removeprefix(f"{self.path}, ")
                oddities.append(f"{kind} in {counted(len(places), 'word')} (the first in {first})")
        return "; ".join(oddities)

    def odd_upos(self) -> str:
        """Return a message about values of UPOS that UD does not have, with the place of the first;
        empty if there are none.
        """
        odd_words = self.odd_upos_left_out + [
            (s.where, tag) for s in self.sentences for tag in _odd_tags(s.upos)
        ]
        if not odd_words:
            return ""
        counts = Counter(tag for _, tag in odd_words)
        places = [where.removeprefix(f"{self.path}, ") for where, _ in odd_words]
        first = min(places, key=lambda place: int(place.split(",")[0].removeprefix("line ")))
        tags = ", ".join(
            f"{shortened(tag)!r}{did_you_mean(tag, UD_TAGS)}"
            for tag, _ in counts.most_common(_LISTED)
        )
        more = (
            f", and {counted(len(counts) - _LISTED, 'other value')}"
            if len(counts) > _LISTED
            else ""
        )
        return (
            f"UPOS is not one of UD's in {counted(len(odd_words), 'word')} (the first in {first}): "
            f"{tags}{more}"
        )

    def __str__(self) -> str:
        counts = f"{counted(len(self), 'sentence')}, {counted(self.n_words, 'word')}"
        if self.n_known_heads < self.n_words:
            counts += f", of which the heads of {self.n_known_heads:,} are known"
        counts += f", {self.nonprojective_percent:.1f}% non-projective trees"
        skipped = (
            f"{counted(self.n_multiword_tokens, 'multiword token')}, "
            f"{counted(self.n_empty_nodes, 'empty node')}"
        )
        if self.n_left_out:
            skipped += f", {counted(self.n_left_out, 'faulty sentence')}"
        return f"{self.path}: {counts} (skipped: {skipped})"


def read_treebank(
    path: str | Path, skip: bool = False, partial: bool = False, scored: bool = False
) -> Treebank:
    """Read a file of gold trees: CoNLL-U in UTF-8, plain or compressed,
    by the ending of its name; BOM and CRLF are fine.

    Args:
        skip: whether sentences with faults are left out.
        partial: whether HEAD and DEPREL may be ``_``, which means unknown.
        scored: whether parses are compared with the trees, rather than learned from them.

    Raises:
        TreebankError: no such file, not CoNLL-U, a sentence that is not a tree with exactly one
            root, or no sentence. The message lists the first faults.
    """
    treebank = read_with_faults(path, partial, scored)
    if treebank.faults and not (
        skip and treebank.sentences and not any(fault.in_file for fault in treebank.faults)
    ):
        told = listed(treebank.faults, can_skip=not skip and bool(treebank.sentences))
        fix = "; treebank.partial=true trains on trees that are known in part"
        raise TreebankError(told if partial else re.sub("(the head '_' .*)", rf"\1{fix}", told))
    return treebank


def read_with_faults(path: str | Path, partial: bool = False, scored: bool = False) -> Treebank:
    """Return the usable sentences of a file, possibly none, and the faults of the rest.

    For ``partial`` and ``scored``, see read_treebank().
    """
    treebank = Treebank(str(path))
    faults = treebank.faults
    try:
        with open_input(path) as stream:
            for sentence in read_raw_sentences(
                _without_nul(stream, treebank.path), treebank.path, strict=False
            ):
                gold, sentence_faults = None, _not_utf8(sentence)
                try:
                    gold = _gold_sentence(sentence, partial)
                except ConlluError as error:
                    sentence_faults += [
                        Fault(*fault) for fault in sentence.faults(partial) or [(str(error), False)]
                    ]
                faults += [
                    fault._replace(leaves_out=number == 0)
                    for number, fault in enumerate(sentence_faults)
                ]
                if sentence_faults and len(sentence):
                    treebank.odd_upos_left_out += [
                        (sentence.place(), tag) for tag in _odd_tags(sentence.column(UPOS))
                    ]
                if gold is not None and not sentence_faults:
                    treebank.sentences.append(gold)
                    treebank.n_multiword_tokens += len(sentence.multiwords)
                    treebank.n_empty_nodes += len(sentence.empty_nodes)
    except ConlluError as error:
        faults.append(
            Fault(str(error), not isinstance(error, TreebankError), in_file=True, ends=True)
        )
    if not (treebank.sentences or faults):
        fault = f"{path}: there is no sentence in this file; name a CoNLL-U file that has some"
        faults.append(Fault(fault, False, in_file=True))
    elif treebank.sentences and not treebank.n_known_heads:
        fault = f"{path}: no head is known, so there is nothing to learn; give HEAD of some words"
        if scored:
            fault = (
                f"{path}: no head is known, so this part cannot be scored; "
                "give HEAD of some words, or leave the part out"
            )
        faults.append(Fault(fault, False, in_file=True))
    return treebank


def _not_utf8(sentence: RawSentence) -> list[Fault]:
    """Return faults for lines that are not UTF-8; input of parsing may hold any bytes,
    gold data may not.
    """
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
            fault = f"{sentence.path}, line {number}: this is not UTF-8 ({error.reason}); {TO_UTF8}"
            faults.append(Fault(fault, False, in_file=True))
    return faults


def listed(faults: Sequence[Fault], can_skip: bool = False) -> str:
    """Return the first faults, a line each, and their number; ``can_skip`` says whether training
    could skip these sentences.
    """
    lines = [fault.message for fault in faults[:_LISTED]]
    if len(faults) > 1:
        first = f", of which these are the first {_LISTED}" if len(faults) > _LISTED else ""
        skips = can_skip and not any(fault.in_file for fault in faults)
        skip = "; treebank.on_error=skip trains without these sentences" if skips else ""
        lines.append(f"{len(faults):,} faults{first}; optimal-step check FILE lists all{skip}")
    return "\n".join(lines)


def read_treebanks(
    paths: Sequence[str | Path],
    skip: bool = False,
    names: Sequence[str] = (),
    partial: bool = False,
    scored: bool = False,
) -> Treebank:
    """Read several files as one treebank, in their order; otherwise as read_treebank().

    ``names`` has the name of each file's treebank; without names, sentences have none.
    """
    treebanks = [read_treebank(path, skip, partial, scored) for path in paths]
    for treebank, name in zip(treebanks, names, strict=False):
        for sentence in treebank:
            sentence.treebank = name
    if len(treebanks) == 1:
        return treebanks[0]
    return Treebank(
        " + ".join(treebank.path for treebank in treebanks),
        [sentence for treebank in treebanks for sentence in treebank],
        sum(treebank.n_multiword_tokens for treebank in treebanks),
        sum(treebank.n_empty_nodes for treebank in treebanks),
        [fault for treebank in treebanks for fault in treebank.faults],
    )


@dataclass(frozen=True)
class SplitFiles:
    """The files of a split.

    Attributes:
        paths: at least one file of CoNLL-U.
        names: the name of each file's treebank; empty if there is only one treebank.
    """

    paths: Sequence[str]
    names: Sequence[str] = ()

    def of_treebank(self, name: str | None) -> list[str]:
        """Return the files of a treebank, each once; None: all files."""
        if name is None:
            return [*self.paths]
        named = zip(self.paths, self.names, strict=True)
        return [*dict.fromkeys(path for path, treebank in named if treebank == name)]


@dataclass(frozen=True)
class TrainingFiles:
    """The files of the training split, and the sentences in them that become other splits.

    Attributes:
        paths, names: see SplitFiles.
        skip: whether sentences with faults are left out.
        held_out: the shares of the sentences that are the dev split and the test split.
        fold: k and n: the test split is the k-th of every n sentences, k from 1; None:
            there are no folds.
        partial: whether HEAD and DEPREL may be ``_``, which means unknown, in all splits.
    """

    paths: Sequence[str]
    skip: bool = False
    held_out: Sequence[float] = (0.0, 0.0)
    fold: Sequence[int] | None = None
    names: Sequence[str] = ()
    partial: bool = False

    def read(self) -> Treebank:
        """Read all sentences; see read_treebanks()."""
        return read_treebanks(self.paths, self.skip, self.names, self.partial)

    def split(self, treebank: Treebank) -> tuple[Treebank, Treebank | None, Treebank | None]:
        """Return the training split, and the sentences held out for dev and for test,
        None if there are none.

        Raises:
            TreebankError: there are not enough sentences.
        """
        test = None
        if self.fold is not None:
            number, folds = self.fold
            if len(treebank) < folds:
                few = (
                    f"{treebank.path}: {counted(len(treebank), 'sentence')} cannot be {folds} folds"
                )
                raise TreebankError(f"{few}; lower treebank.folds")
            treebank, test = _taken(treebank, folds, number, f"fold {number} of {folds}")
        treebank, dev = without_held_out(treebank, self.held_out[0])
        if test is None:
            treebank, test = without_held_out(treebank, self.held_out[1] / (1 - self.held_out[0]))
        return treebank, dev, test

    def of_treebank(self, name: str | None) -> list[str]:
        """Return the files of a treebank; see SplitFiles.of_treebank()."""
        return SplitFiles(self.paths, self.names).of_treebank(name)

    def as_files(
        self, dev: SplitFiles | None, folder: Path, treebank: str | None = None
    ) -> tuple[list[str], str | None]:
        """Return files of the training split and the dev split, for tools that read whole files.

        Args:
            dev: the dev split, if it is not held out.
            folder: where files are written, if a split does not have all sentences of its files.
            treebank: one of ``names``, whose sentences alone are wanted; None: all sentences.
        """
        paths = self.of_treebank(treebank)
        dev_paths = [] if dev is None else dev.of_treebank(treebank)
        if not (self.skip or self.fold is not None or any(self.held_out)) and len(dev_paths) < 2:
            return paths, dev_paths[0] if dev_paths else None
        train, held_out, _ = self.split(read_treebanks(self.paths, self.skip, partial=self.partial))
        train_file = _copied(train, paths, folder / "train.conllu")
        if dev_paths:
            held_out = read_treebanks(dev_paths, self.skip, partial=self.partial)
        if held_out is None:
            return [train_file], None
        return [train_file], _copied(held_out, dev_paths or paths, folder / "dev.conllu")


def without_held_out(treebank: Treebank, share: float) -> tuple[Treebank, Treebank | None]:
    """Return the treebank without a share of its sentences, and these as a treebank,
    None if the share is 0.

    They are every k-th sentence, k = 1 / share rounded: from all parts of the files,
    and always the same.

    Raises:
        TreebankError: there are fewer than k sentences.
    """
    if not share:
        return treebank, None
    every = max(2, round(1 / share))
    if len(treebank) < every:
        fix = (
            "raise treebank.held_out"
            if len(treebank) > 1
            else "omit treebank.held_out, or give more sentences"
        )
        few = (
            f"{treebank.path}: one sentence in {every} cannot be held out of "
            f"{counted(len(treebank), 'sentence')}"
        )
        raise TreebankError(f"{few}; {fix}")
    return _taken(treebank, every, every, f"one sentence in {every}, held out")


def _taken(treebank: Treebank, every: int, number: int, name: str) -> tuple[Treebank, Treebank]:
    """Return the treebank without one in ``every`` sentences, from ``number`` on, and these as a
    treebank with this name.
    """
    taken = treebank.sentences[number - 1 :: every]
    kept = [
        sentence for place, sentence in enumerate(treebank.sentences, 1) if (place - number) % every
    ]
    train = Treebank(
        treebank.path, kept, treebank.n_multiword_tokens, treebank.n_empty_nodes, treebank.faults
    )
    return train, Treebank(f"{treebank.path} ({name})", taken)


def _copied(treebank: Treebank, paths: Sequence[str], target: Path) -> str:
    """Write the sentences of a treebank to a file, as they stand in its own files;
    return the file's name.
    """
    with open(target, "w", encoding="utf-8", newline="") as written:
        written.writelines(text for text, _ in read_again(treebank.sentences, paths))
    return str(target)


def read_again(
    sentences: Iterable[Sentence], paths: Sequence[str]
) -> Iterator[tuple[str, RawSentence]]:
    """Read sentences again from their files; yield the CoNLL-U of each, and the RawSentence."""
    wanted = {sentence.where for sentence in sentences}
    for path in paths:
        for sentence in read_sentences(path, strict=False):
            if sentence.place(_first_line(sentence)) in wanted:
                yield (
                    "".join(sentence.lines).removeprefix(BYTE_ORDER_MARK).rstrip("\r\n") + "\n\n",
                    sentence,
                )


def _without_nul(stream: Iterable[bytes], path: str) -> Iterator[bytes]:
    """Yield the lines of a file; refuse a NUL byte."""
    for number, line in enumerate(stream, 1):
        if b"\0" in line:
            raise TreebankError(
                f"{path}, line {number}: a NUL byte, so this is not text; name a CoNLL-U file"
            )
        yield line


def _first_line(sentence: RawSentence) -> int:
    return next((place for place, line in enumerate(sentence.lines) if not is_blank(line)), 0)


def _gold_sentence(sentence: RawSentence, partial: bool) -> Sentence | None:
    """Return the sentence; None for lines without words."""
    if sentence.error is not None:
        raise sentence.error
    if not len(sentence):
        if sentence.empty_nodes:
            place = sentence.place(sentence.empty_nodes[0])
            raise TreebankError(
                f"{place}: a sentence without words; a sentence needs at least one word"
            )
        return None

    def column(number: int) -> list[str]:
        # Interned, because values are repeated: 5 MB instead of 20, for 42,000 words of Greek.
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


def language_of(files: Iterable[str | Path]) -> str | None:
    """Return the language of a treebank by the names of its files, such as en_ewt-ud-train.conllu;
    None if they do not say.
    """
    languages = {
        match[1] for path in files if (match := _UD_NAME.match(Path(path).name)) is not None
    }
    return languages.pop() if len(languages) == 1 else None
