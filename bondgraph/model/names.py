"""Names as a user gives them: several, or one alone as plain text."""

from __future__ import annotations

from collections.abc import Iterable

from bondgraph.errors import ModelError, refusal


def names_of(given: str | Iterable[str], argument: str = "names") -> tuple[str, ...]:
    """Names as a tuple; plain text is one name.

    Raises `ModelError` E150 for what holds no text; `argument` says where it was given.

    >>> names_of("spring.q"), names_of(["spring.q", "time"])
    (('spring.q',), ('spring.q', 'time'))
    """
    if isinstance(given, str):
        return (given,)
    if isinstance(given, tuple) and not given:
        return ()
    found = tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(name, str) for name in found):
        raise refused(argument, given, "names, as text, or one alone", f'{argument}=("spring.q", "time")')
    return found


def is_name(name: str) -> bool:
    """Whether generated names stay unambiguous: `<part>.<signal>`, `<bond>:effort`, `-<value>`, `<state>'`."""
    marked = "." in name or ":" in name or "'" in name or "->" in name or name.startswith("-")
    return not marked and bool(name.strip())


def need_name(kind: str, name: object) -> None:
    """Raises `ModelError` E150 for a name that is no text, E102 for one with characters that cannot be printed."""
    if not isinstance(name, str):
        title = f"{kind} {name!r}: its name is of type {type(name).__name__}"
        raise refusal("E150", title, f'a text: "{name}"', about=str(name))
    if not name.isprintable():
        title = f"{kind} {name!r}: its name has characters that cannot be printed"
        raise refusal("E102", title, "a name of letters, digits, spaces or underscores", about=repr(name))


def refused(argument: str, given: object, wanted: str, cure: str) -> ModelError:
    """The error of an argument that is not what it must be."""
    title = f"`{argument}` cannot be {given!r}"
    return refusal("E150", title, cure, about=argument, why=f"it is {wanted}")
