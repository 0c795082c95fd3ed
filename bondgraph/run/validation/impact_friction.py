"""Check of friction in the impacts of a finished run."""

from __future__ import annotations

from bondgraph.run.results.failure import ValidityConcern
from bondgraph.run.results.result import Result
from screws.errors import plural

_CURES = (
    "storages with linear laws, which give a linear problem of impulses",
    "compliant contacts instead of impacts, so that friction acts while they are closed",
)


def friction_concerns(result: Result) -> tuple[ValidityConcern, ...]:
    """Return a concern if impacts were computed without their friction, because no impulses were found within the friction
    cones."""
    lost = result.events.select(result.events.without_friction)
    if not len(lost):
        return ()
    missing = f"friction is missing in {plural(len(lost), 'impact')}"
    reason = f"{missing}: no impulses were found that satisfy the laws of friction and of storages"
    return (ValidityConcern(reason, lost[0].time, lost[0].name, cures=_CURES),)
