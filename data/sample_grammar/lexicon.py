"""The words, in classes that keep the sentences plausible: who does what, to what, with what, and where.

Within a list the earlier words are the more frequent ones. ``*`` marks a word held out from the training part, ``~`` a mass
noun, ``word/plural`` an irregular plural. The classes carry the lexical preferences by which attachments are decided: a
telescope is what one sees with, a roof is what a house comes with.
"""

from __future__ import annotations

from dataclasses import dataclass


def _words(words: str) -> tuple[str, ...]:
    return tuple(words.split())


_NOUNS = {
    "person": "gardener baker child/children teacher painter sailor neighbour fisherman/fishermen *beekeeper librarian doctor "
    "boy girl farmer *astronomer carpenter student cook visitor musician postman/postmen shepherd *potter dancer tailor "
    "*lamplighter",
    "animal": "dog cat bird horse fox/foxes owl goose/geese heron *otter sheep/sheep swallow hedgehog squirrel seal *badger "
    "whale donkey hen *lapwing",
    "pastry": "cake pie bread~ *strudel biscuit pancake *muffin",
    "dish": "soup~ stew~ salad *pudding porridge~ omelette",
    "fruit": "apple pear plum cherry/cherries nut *quince berry/berries peach/peaches *fig",
    "sweet": "honey~ butter~ cinnamon~ *vanilla~ cream~ lemon~",
    "savoury": "butter~ garlic~ *saffron~ cream~ parsley~",
    "text": "book letter story/stories poem note *ballad postcard report diary/diaries newspaper *chronicle",
    "image": "picture painting photograph *etching map sketch/sketches portrait",
    "building": "house cottage mill library/libraries lighthouse *chapel school church/churches inn barn bakery/bakeries "
    "*observatory/observatories",
    "artifact": "boat clock bicycle lantern chair fence *accordion kite wagon bench/benches violin lamp *sundial gate door",
    "furniture": "table tent bench/benches chair lamp *hammock shelf/shelves",
    "container": "basket box/boxes bowl jar *crate bottle sack cup *hamper",
    "plant": "rose tree tulip sunflower *dahlia oak fern lily/lilies *peony",
    "nature": "star moon cloud river sunset wave rainbow *comet mountain waterfall",
    "event": "concert festival dinner lesson wedding *regatta picnic parade",
    "part": "roof tower chimney window *turret door balcony/balconies cellar",
    "limb": "eye leg spot *stripe",
    "outfit": "hat coat scarf/scarves umbrella smile beard *moustache basket telescope",
    "optics": "telescope camera lens/lenses *spyglass",
    "brush": "brush/brushes roller *sponge",
    "tool": "hammer rope knife/knives needle *chisel ladder",
    "pen": "pencil pen *quill",
    "spoon": "spoon fork ladle",
    "idea": "plan idea question answer *riddle dream",
    "road": "path road bridge track *lane",
}
NOUNS = {name: _words(words) for name, words in _NOUNS.items()}

PLACES = _words(
    "in:garden at:market in:village at:harbour in:courtyard on:beach in:park on:hill in:forest *on:jetty on:island at:station "
    "in:valley in:square *in:orchard near:river behind:barn in:meadow under:bridge *near:marsh"
)
NAMES = _words("Anna Tom Maria Paul Clara *Edith Peter Nora Jonas Ella *Oscar Felix Ida Martin *Greta Hugo *Viola Simon")
TOWNS = _words("Elmford Seaham Northby *Ravenhill Oakley Westmere *Thornbury")
SWIMMING_PLACES = _words("in:river in:lake near:island *near:jetty in:sea")
PLANTING_PLACES = _words("in:garden in:park *in:orchard behind:barn near:gate")
WEEKDAYS = _words("Sunday Monday Saturday Friday Tuesday *Wednesday")
DAYTIMES = _words("in:morning in:evening at:night in:afternoon")
SPANS = _words("week year summer spring month *autumn night")

_ADJECTIVES = {
    "person": "old young kind tall *jovial cheerful quiet clever friendly patient famous *absent-minded",
    "animal": "small grey old *shaggy white hungry brown curious young",
    "pastry": "warm fresh sweet delicious *crisp small",
    "dish": "warm fresh delicious sweet *spicy simple",
    "fruit": "ripe red sweet *juicy fresh small",
    "text": "long short old *witty beautiful new curious funny",
    "image": "beautiful large old small *faded colourful",
    "building": "old small white large *cosy new tall quiet",
    "artifact": "old new red wooden *rusty small green heavy",
    "container": "large small wooden *dented blue full",
    "plant": "yellow tall beautiful *fragrant red wild",
    "nature": "bright distant beautiful *silvery wide",
    "event": "long small merry *splendid famous",
    "limb": "bright dark small *slender brown",
    "place": "small old quiet *busy",
    "idea": "good new simple *bold clever strange",
}
ADJECTIVES = {name: _words(words) for name, words in _ADJECTIVES.items()}
OTHER_ADJECTIVES = _words("small old red *worn long blue green")
COMPARATIVES = _words("larger:large older:old smaller:small *braver:brave better:good longer:long")

# What a noun takes as a prepositional modifier: preposition, class of its noun, weight.
NOUN_MODIFIERS = {
    "person": (("with", "outfit", 4), ("from", "town", 4)),
    "animal": (("with", "limb", 1),),
    "pastry": (("with", "sweet", 1),),
    "dish": (("with", "savoury", 1),),
    "text": (("about", "topic", 5), ("from", "person", 3), ("for", "person", 1)),
    "image": (("of", "topic", 6), ("by", "person", 1)),
    "building": (("with", "part", 4), ("near", "place", 1)),
    "container": (("of", "fruit", 1),),
    "road": (("to", "building", 1), ("to", "town", 1)),
    "event": (("for", "person", 1), ("in", "town", 1)),
    "idea": (("about", "topic", 2), ("for", "event", 2)),
    "artifact": (("from", "town", 1), ("for", "person", 1)),
}
CALM = ("sleep", "nap", "rest", "appear", "live")  # only quietly
PURPOSEFUL = ("walk", "come", "arrive", "buy", "carry", "wait", "rest")  # they like an infinitive of purpose
ANIMAL_OBJECTS = ("animal", "person", "fruit", "nature", "building", "road")
PRESENTING = ("arrive", "appear", "come")  # verbs whose subject likes to send its relative clause to the end
TOPICS = ("animal", "nature", "plant", "building", "animal", "person")


@dataclass(frozen=True)
class Verb:
    """A verb with its forms and what it takes.

    Attributes:
        objects: the classes of its direct objects.
        slots: the prepositional phrases it likes: (preposition, class, probability).
        locative: how likely a place belongs to the verb; the rest of the places belongs to the object, as in
            ``she admired the roses in the garden``.
        animal: animals do it too.
    """

    lemma: str
    past: str
    participle: str
    objects: tuple[str, ...] = ()
    slots: tuple[tuple[str, str, float], ...] = ()
    locative: float = 0.9
    animal: bool = False
    particle: str = ""


def _verb(
    forms: str, objects: str = "", slots: str = "", locative: float = 0.9, animal: bool = False, particle: str = ""
) -> Verb:
    lemma, past, *participle = forms.split()
    parsed = [slot.split(":") for slot in slots.split()]
    return Verb(
        lemma,
        past,
        (participle or [past])[0],
        tuple(objects.split()),
        tuple((preposition, noun, float(probability)) for preposition, noun, probability in parsed),
        locative,
        animal,
        particle,
    )


TRANSITIVE = (
    _verb("see saw seen", "animal person nature building", "with:optics:0.35", 0.35, True),
    _verb("find found", "artifact container animal text fruit", "with:optics:0.05", 0.8, True),
    _verb("paint painted", "building artifact plant", "with:brush:0.45"),
    _verb("read read", "text", "to:person:0.3", 0.8),
    _verb("watch watched", "animal nature person", "with:optics:0.4", 0.4, True),
    _verb("admire admired", "plant image building nature", "", 0.08),
    _verb("write wrote written", "text", "with:pen:0.3 to:person:0.2"),
    _verb("bake baked", "pastry", "for:person:0.4"),
    _verb("buy bought", "fruit artifact container image", "from:person:0.4 for:person:0.15"),
    _verb("repair repaired", "artifact furniture", "with:tool:0.45 for:person:0.15"),
    _verb("eat ate eaten", "pastry dish fruit", "with:spoon:0.2", 0.9, True),
    _verb("know knew known", "person building road text", "", 0.04),
    _verb("carry carried", "container artifact", "to:building:0.3"),
    _verb("meet met", "person animal", "", 0.9),
    _verb("describe described", "building image idea event", "to:person:0.35 in:text:0.2", 0.05),
    _verb("follow followed", "animal person road", "to:building:0.3", 0.5, True),
    _verb("*sketch sketched", "building animal nature", "with:pen:0.4", 0.3),
    _verb("remember remembered", "event idea person", "", 0.05),
    _verb("visit visited", "building person event", "with:person:0.3", 0.1),
    _verb("plant planted", "plant", "for:person:0.2"),
    _verb("love loved", "nature building animal pastry", "", 0.05),
    _verb("draw drew drawn", "nature animal plant", "with:pen:0.4 for:person:0.2"),
    _verb("*mend mended", "artifact", "with:tool:0.5"),
    _verb("clean cleaned", "artifact furniture container", "with:brush:0.4"),
    _verb("discuss discussed", "idea text event", "with:person:0.4", 0.6),
)
PARTICLE = (
    _verb("pick picked", "fruit container text", "with:spoon:0.05", particle="up"),
    _verb("put put", "container text pen", "", particle="away"),
    _verb("bring brought", "text container", "from:building:0.2", particle="back"),
    _verb("set set", "furniture", "for:person:0.2", particle="up"),
)
DITRANSITIVE = (
    _verb("give gave given", "artifact fruit image plant"),
    _verb("show showed shown", "image text plant artifact"),
    _verb("send sent", "text image container"),
    _verb("lend lent", "artifact text"),
    _verb("*hand handed", "container fruit"),
)
INTRANSITIVE = (
    _verb("arrive arrived", slots="with:person:0.15", animal=True),
    _verb("sleep slept", animal=True),
    _verb("sing sang sung", slots="for:person:0.3", animal=True),
    _verb("walk walked", slots="to:building:0.5 with:person:0.2", animal=True),
    _verb("laugh laughed"),
    _verb("swim swam swum", slots="with:person:0.2", animal=True),
    _verb("play played", slots="with:animal:0.3", animal=True),
    _verb("appear appeared", animal=True),
    _verb("come came come", slots="to:building:0.2", animal=True),
    _verb("*nap napped", animal=True),
    _verb("dance danced", slots="with:person:0.4"),
    _verb("rest rested", animal=True),
)
OBLIQUE = (  # the preposition belongs to the verb: it can be stranded
    _verb("talk talked", "topic idea event", "about:topic:1"),
    _verb("wait waited", "person event text", "for:person:1", animal=True),
    _verb("look looked", "image nature building artifact", "at:image:1", animal=True),
    _verb("listen listened", "person text", "to:person:1", animal=True),
    _verb("dream dreamed", "event nature building", "of:event:1"),
    _verb("work worked", "image text artifact", "on:image:1"),
    _verb("*stare stared", "nature artifact image", "at:nature:1"),
    _verb("live lived", "building", "in:building:1", animal=True),
    _verb("care cared", "animal plant person", "for:animal:1"),
)
SAYING = tuple(
    _verb(forms)
    for forms in ("say said", "think thought", "believe believed", "know knew known", "hope hoped", "notice noticed")
)
TRYING = tuple(
    _verb(forms)
    for forms in ("want wanted", "try tried", "begin began begun", "decide decided", "hope hoped", "*learn learned")
)
STATIVE = _words("see know admire love remember believe want hope think care live find")  # not in the progressive

MANNER = _words("quietly slowly happily carefully *gently quickly gladly proudly *patiently")
FREQUENCY = _words("often always never usually sometimes *rarely also still")
WHEN = {
    "past": _words("yesterday again outside there *recently"),
    "present": _words("today again here outside *tonight"),
}
FRONTING = _words("perhaps sometimes luckily suddenly then *meanwhile")
SUBORDINATORS = _words("when because while if after before although *since")
NUMERALS = _words("two three four five *seven ten")
