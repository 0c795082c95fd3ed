"""The model that workers run: as it is in this process; as data, compiled once, in others."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.errors import no_model, refusal

Source = Compilable | Callable[[], Compilable]
"""What a sweep takes: a graph, a model, a compiled model, or a function of a module that builds one."""

_MOST = 4
"""Compiled models that a worker keeps."""
_here: dict[str, SentModel] = {}
_lock = threading.Lock()


class SentModel:
    """A compiled model and its fingerprint; another process gets the function that builds it, and compiles what that gives."""

    def __init__(self, compiled: Compiled, build: Callable[[], Compilable] | None = None):
        self.compiled, self.build, self.fingerprint = compiled, build, fingerprint(compiled)

    def __reduce__(self) -> tuple[Callable[..., SentModel], tuple[object, ...]]:
        if self.build is None:
            about = self.compiled.model.name
            cures = ("sweep(function, ...), with a function of a module that builds the graph", "executor=None, for threads")
            title = "other processes cannot have this model"
            raise refusal("E366", title, *cures, about=about, why="it holds formulas", places=())
        return arrived, (self.build, self.fingerprint)


def sent_model(model: Source, *, progress: bool) -> SentModel:
    """The model, compiled; E100 for what is none."""
    if not isinstance(model, Compilable) and callable(model):
        built = model()
        if not isinstance(built, Compilable):
            raise no_model(built, "sweep")
        return SentModel(compiled_form(built, "sweep", progress=progress), model)
    return SentModel(compiled_form(model, "sweep", progress=progress))


def arrived(build: Callable[[], Compilable], known: str) -> SentModel:
    """The model in a worker, compiled when it comes for the first time; E366 where it turns out as another one there."""
    with _lock:
        if known not in _here:
            found = sent_model(build, progress=False)
            if found.fingerprint != known:
                name = found.compiled.model.name
                cure = "a function that builds the same graph at every call, of the same file on every machine"
                raise refusal("E366", "the function builds another model in a worker", cure, about=name, places=())
            while len(_here) >= _MOST:
                del _here[next(iter(_here))]
            _here[known] = found
        return _here[known]


def fingerprint(compiled: Compiled) -> str:
    """A digest of a model: names, units, shapes, numbers, and what its equations give near its start."""
    system, program = compiled.system, compiled.program
    (x, m), p = compiled.initial(), compiled.parameters()
    named = sorted((name, value.unit, value.shape) for name, value in system.values.items())
    parts = [repr((compiled.model.name, named, sorted(system.modes.items()))).encode(), x.tobytes(), p.tobytes(), m.tobytes()]
    for at in (x, x + 0.1 * program.typical):
        for kernel in (program.rates, program.guards, program.powers, program.energies):
            with np.errstate(all="ignore"):
                parts.append(b"" if kernel is None else kernel(0.0, at, p, m).tobytes())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()
