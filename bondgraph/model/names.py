"""Names as arguments: several, or a single one as plain text."""

from __future__ import annotations

from collections.abc import Iterable

from bondgraph.errors import ModelError, refusal


def names_of(names: str | Iterable[str], argument: str = "names") -> tuple[str, ...]:
    """Return names as a tuple; plain text is one name.

    Raises `ModelError` E150 for anything but texts; `argument` names the argument.

    >>> names_of("spring.q"), names_of(["spring.q", "time"])
    (('spring.q',), ('spring.q', 'time'))
    """
    if isinstance(names, str):
        return (names,)
    if isinstance(names, tuple) and not names:
        return ()
    items = tuple(names) if isinstance(names, Iterable) else (names,)
    if not all(isinstance(name, str) for name in items):
        raise refused(argument, names, "names, as text, or one alone", f'{argument}=("spring.q", "time")')
    return items


def is_name(name: str) -> bool:
    """Return True if generated names stay unambiguous: `<part>.<signal>`, `<bond>:effort`, `-<value>`, `<state>'`."""
    marked = "." in name or ":" in name or "'" in name or "->" in name or name.startswith("-")
    return not marked and bool(name.strip())


def need_name(kind: str, name: object) -> None:
    """Raise `ModelError` E150 for a name that is no text, E102 for one with characters that cannot be printed."""
    if not isinstance(name, str):
        title = f"{kind} {name!r}: its name is of type {type(name).__name__}"
        raise refusal("E150", title, f'a text: "{name}"', about=str(name))
    if not name.isprintable():
        title = f"{kind} {name!r}: its name has characters that cannot be printed"
        raise refusal("E102", title, "a name of letters, digits, spaces or underscores", about=repr(name))


def refused(argument: str, value: object, expected: str, cure: str) -> ModelError:
    """Return the error of an argument of the wrong type."""
    title = f"`{argument}` cannot be {value!r}"
    return refusal("E150", title, cure, about=argument, why=f"it is {expected}")
