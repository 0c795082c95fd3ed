"""Names that nothing has: what was asked for, and all that there is, in; the KeyError with the nearest names out."""

from __future__ import annotations

import difflib
from collections.abc import Collection

MOST = 8
"""So many names are listed where none is near."""


class UnknownName(KeyError):
    """A name that nothing has. Its text is shown as it is, without the quotation marks that Python puts round a key."""

    def __str__(self) -> str:
        return str(self.args[0])


def unknown(what: str, name: object, known: Collection[str]) -> UnknownName:
    """The error, to be raised: `no quantity "m.flw"; did you mean "m.flow"?`"""
    near = difflib.get_close_matches(str(name), known, n=4, cutoff=0.5)
    some = ", ".join(f'"{one}"' for one in near or list(known)[:MOST])
    more = f" and {len(known) - MOST} more" if not near and len(known) > MOST else ""
    return UnknownName(f'no {what} "{name}"; ' + (f"did you mean {some}?" if near else f"there are {some or 'none'}{more}"))
