"""Names similar to an unknown name, for every "did you mean"."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MAX_LISTED = 4


def similar_names(name: object, names: Iterable[str], most: int = MAX_LISTED, cutoff: float = 0.6) -> list[str]:
    """Return the names that an unknown name may mean, the likeliest first; an empty list if no name is similar.

    A name that differs only in case is a certain match. Then come names that differ only in underscores, spaces and case; for a
    path such as `damper.resistance`, names of the same part; names whose likeness (0 to 1) is `cutoff` or more, before names of
    the same part if the first is almost equal; longer names that contain the unknown name; and without any of these, names of
    other parts with the same last word.

    >>> similar_names("PID", ["gain", "pid", "sampled_pid"])
    ['pid']
    >>> similar_names("damper.resistance", ["mass.mass", "spring.stiffness", "damper.damping"])
    ['damper.damping']
    """
    all_names, wanted = list(dict.fromkeys(names)), _letters(name)
    if in_other_case := [each for each in all_names if each.lower() == str(name).lower()]:
        return in_other_case[:most]
    same = [each for each in all_names if _letters(each) == wanted]
    part, _, local = str(name).rpartition(".")
    siblings = [each for each in all_names if part and each.rpartition(".")[0] == part]
    by_local = {each.rpartition(".")[2].lower(): each for each in siblings}
    of_part = [by_local[near] for near in difflib.get_close_matches(local.lower(), by_local, n=most, cutoff=0.0)]
    by_text = dict[str, list[str]]()
    for each in all_names:
        by_text.setdefault(each.lower(), []).append(each)
    texts = difflib.get_close_matches(str(name).lower(), by_text, n=most, cutoff=cutoff)
    near = [each for text in texts for each in sorted(by_text[text], key=lambda each: -_likeness(name, each))]
    containing = [each for each in all_names if len(wanted) > 2 and wanted in _letters(each)]
    if near and _likeness(str(name).lower(), near[0].lower()) > 0.85:
        of_part, near = [], [*near, *of_part]
    likely = [*same, *of_part, *near, *containing]
    if part and not likely:
        likely = sorted((each for each in all_names if each.endswith(f".{local}")), key=lambda each: each.count("."))
    return list(dict.fromkeys(likely))[:most]


def _likeness(name: object, other: str) -> float:
    return difflib.SequenceMatcher(None, str(name), other).ratio()


def _letters(name: object) -> str:
    return str(name).lower().replace("_", "").replace(" ", "")
