"""Where a line of a plain script names its speaker: `NAME: text`, and what only looks like it."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import NamedTuple

from notarius_assets.transcripts.wordlist import words

MAX_LABEL = 80
"""The longest label, in characters."""

_MAX_WORDS = 7

_NOT_NAMES = words("""
    agenda appendix author authors background cast channel chapter characters classifier comment comments contact
    content contents copyright credits date debug default depends description disclaimer discussion documentation
    duration edit editor email episode error errors example examples fatal figure file files fixme format from guild
    hint homepage house-rules important info input keywords language license licence link links location maintainer
    map message metadata music name nb note notes notice options output package parameters platform players
    players-present present prerequisites provides ps publisher question raises recap recorded reference references
    release remark requester requirements returns scene section see seealso session setting size source sources
    status subject summary table tags tip title to todo topic tracks transcribed transcriber transcript
    transcription translation type update updated url usage version warning warnings website when where yields
    package-status home-page author-email maintainer-email license-file license-expression requires-dist
    requires-python requires-external provides-extra project-url description-content-type metadata-version
    supported-platform dynamic content-type content-length message-id reply-to cc bcc received user-agent
    upstream-name upstream-contact build-depends standards-version vcs-git
""")
"""First words, lower case, of labels that are headings or fields: `Note`, `Session 3`, `Requires-Dist`."""

_NOT_LABELS = words("""
    i he she they it we you this that there here these those so and but then now well yes no okay ok oh ah what why
    who how which if because however also first second third fourth next last finally one two three or anyway look
    listen wait plus meaning therefore thus hence
    ac dc hp xp gp sp cp initiative perception insight investigation stealth acrobatics athletics arcana history
    nature religion deception intimidation performance persuasion survival medicine sleight strength dexterity
    constitution intelligence wisdom charisma damage total roll attack range components
    """)
"""First words, lower case, of what is said before a colon, not who says it."""

_PARTICLES = words(
    "a al and aka as bin bint d' da dal dan das de del della den der des di do dos du e el en et from ibn in la las le"
    " los of on ten ter the to und van vom von with y zu zum zur"
)
_ABBREVIATIONS = words("capt cmdr col dr fr gen hon jr lt maj mme mr mrs ms prof rev sgt sr st vs")
_ROLES = words("dm gm host guest player pc npc narrator storyteller keeper mc")
_PRONOUNS = re.compile(r"[a-z]{1,6}(?:/[a-z]{1,6}){1,3}", re.IGNORECASE)

_ASIDE = re.compile(r"\([^()]{0,80}\)|\[[^\[\]]{0,80}\]")
_TIME = re.compile(r"\d{1,3}:\d\d(?::\d\d)?(?!\d)")
_FORBIDDEN = re.compile(r"[<>{}=;|\\*`^~@$%!…]|://")
_WORD_CHARACTERS = re.compile(r"[^\W\d_]")
_TOGETHER = re.compile(r"\s*/\s*|\s+(?:and|AND|And|&|\+)\s+|\s*,\s*(?:(?:and|AND|And|&)\s+)?")
_CONSTANT = re.compile(r"[A-Z0-9]*_[A-Z0-9_]*[A-Z]|[A-Z]+(?:_[A-Z]+)+_?\d*")
"""Names as code has them; SPEAKER_00 is none."""

_PREFIX = re.compile(r"(?:d|l|o|al|el)(?:['’-])(?=\w)")
_UNKNOWN_VOICE = re.compile(r"\?{1,10}")


class Labelled(NamedTuple):
    """A line cut at its label: the people named, asides such as `(whispering)`, and the words.

    `certain` is False where the label is only one if other lines use it too.
    """

    speakers: tuple[str, ...]
    aside: str
    words: str
    certain: bool


class Rejected(NamedTuple):
    """A line that begins like a label, but with a word that names nobody."""

    label: str


def is_role(name: str) -> bool:
    """Tell whether a name is a part at the table, such as DM."""
    return name.casefold() in _ROLES


def begins_with_time(line: str) -> bool:
    """Tell whether a line begins with a time of day or an offset."""
    return _TIME.match(line) is not None


def time_as_label(line: str) -> str | None:
    """Return what stands before the colon where a line that begins with a time goes on like a label."""
    time = _TIME.match(line)
    place = line.find(": ", time.end(), MAX_LABEL) if time else -1
    return line[:place] if place > 0 else None


def cut(line: str) -> Labelled | Rejected | None:
    """Return what the begin of a line tells, or None where it has no label. The line is trimmed."""
    head = line[: MAX_LABEL + 1]
    places = [place for place in (head.find(":"), head.find("：")) if place > 0]
    if not places:
        return None
    place = min(places)
    label, said = head[:place].rstrip(), line[place + 1 :]
    if said.startswith("//") or (label[-1].isdigit() and said[:1].isdigit()):
        return None
    spaced = line[place] == "：" or not said or said[0].isspace()
    base, part, aside = _without_asides(label)
    if _UNKNOWN_VOICE.fullmatch(base):
        return Labelled((base,), aside, said.strip(), spaced)
    if not _may_be_name(base):
        return None
    first = base.split(maxsplit=1)[0].casefold()
    if first in _NOT_LABELS and not base.isupper():
        return None
    if first in _NOT_NAMES or base.casefold().replace(" ", "-") in _NOT_NAMES:
        return Rejected(label) if spaced else None
    speakers = tuple(name for name in _TOGETHER.split(base) if name)
    if part:
        speakers = (*speakers[:-1], f"{speakers[-1]} {part}")
    certain = spaced and "," not in base and _begins_upper(base) and not _CONSTANT.fullmatch(base)
    return Labelled(speakers, aside, said.strip(), certain)


def confirmed(found: Labelled, known: Set[str]) -> bool:
    """Tell whether a label that is not certain is one because each of its names is known."""
    return found.certain or all(name.casefold() in known for name in found.speakers)


def _without_asides(label: str) -> tuple[str, str, str]:
    """Return a label's name, the role or pronouns that belong to it, and its asides."""
    asides: list[str] = []
    base = label
    while base.endswith((")", "]")):
        start = base.rfind("(" if base[-1] == ")" else "[")
        if start <= 0 or not _ASIDE.fullmatch(base, start):
            break
        bracket, base = base[start:], base[:start].rstrip()
        if is_role(bracket[1:-1].strip()) or _PRONOUNS.fullmatch(bracket[1:-1].strip()):
            return base, bracket, " ".join(asides)
        asides.insert(0, bracket)
    return base, "", " ".join(asides)


def _begins_upper(word: str) -> bool:
    """Tell whether a word's first letter is a capital, or of a script without capitals."""
    letter = _WORD_CHARACTERS.search(word)
    return letter is None or not letter[0].islower()


def _may_be_name(base: str) -> bool:
    """Tell whether a label reads like a name: few words, capitals but for particles, no punctuation of a sentence."""
    if (
        not base
        or base[0] in "([-#>'’_"
        or base.count('"') % 2
        or base.startswith('""')
        or _FORBIDDEN.search(base)
        or not _WORD_CHARACTERS.search(base)
    ):
        return False
    parts = base.replace("/", " / ").split()
    if len(parts) > _MAX_WORDS:
        return False
    for place, word in enumerate(parts):
        if word.endswith("."):
            stem = word.strip('."“”(').casefold()
            if len(stem) > 1 and stem not in _ABBREVIATIONS:
                return False
        if word.endswith("?"):
            return False
        if (
            place
            and not _begins_upper(_PREFIX.sub("", word, count=1))
            and word.casefold().strip(",") not in _PARTICLES
            and word[0] not in '"“(['
        ):
            return False
    # One word in lower case may be an account's name; several are the begin of a sentence.
    return _begins_upper(parts[0]) or len(parts) == 1
