"""The model that workers run: as it is in this process; as a text, compiled once, in others."""

from __future__ import annotations

import hashlib
import json
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compile_model, compiled_form
from bondgraph.errors import ModelError, no_model, refusal
from bondgraph.interchange import dump_model, parse_model
from bondgraph.prepared.runs import PreparedRun, shared_runs
from bondgraph.run_arguments import KeepAsked, RunSettings

Source = Compilable | Callable[[], Compilable]
"""What a sweep takes: a graph, a model, a compiled model, or a function that builds one."""

_MOST = 4
"""Compiled models that a worker keeps."""
_here: dict[tuple[str, str], SentModel] = {}
_lock = threading.Lock()


class SentModel:
    """A compiled model and its fingerprint.

    Another process gets its text, and compiles that; or, where the model has none, the function that builds it.
    """

    def __init__(self, compiled: Compiled, build: Callable[[], Compilable] | None = None):
        self.compiled, self.build = compiled, build
        self.backend = "llvm" if compiled.program.rates.is_machine_code else "numpy"
        self._lock, self._bound = threading.Lock(), cast("tuple[Mapping[str, Any], PreparedRun] | None", None)
        self.text, self.why, self.fingerprint = _told(compiled)

    def prepared(self, t_end: float, settings: Mapping[str, Any]) -> PreparedRun:
        """Runs with these settings, bound once for all chunks that come with the same ones, and for sweeps that follow."""
        with self._lock:
            if self._bound is None or self._bound[0] is not settings:
                quiet = cast(RunSettings, {**settings, "progress": False})
                self._bound = settings, shared_runs(self.compiled, t_end, KeepAsked(), quiet)
            return self._bound[1]

    def __reduce__(self) -> tuple[Callable[..., SentModel], tuple[object, ...]]:
        if self.text and not self.compiled.system.starts:
            return arrived_text, (self.text, self.backend, self.fingerprint)
        if self.build is not None:
            return arrived_function, (self.build, self.fingerprint)
        why = self.why or ("functions give its start values, which a text holds as they were found",)
        cures = ("sweep(function, ...), with a function of a module that builds the graph", "executor=None, for threads")
        name = self.compiled.model.name
        raise refusal("E366", "other processes cannot have this model", *cures, about=name, why=why, places=())


def sent_model(model: Source, *, progress: bool) -> SentModel:
    """The model, compiled; E100 for what is none."""
    if not isinstance(model, Compilable) and callable(model):
        built = model()
        if not isinstance(built, Compilable):
            raise no_model(built, "sweep")
        return SentModel(compiled_form(built, "sweep", progress=progress), model)
    return SentModel(compiled_form(model, "sweep", progress=progress))


def arrived_text(text: str, backend: str, fingerprint: str) -> SentModel:
    """The model in a worker, compiled when it comes for the first time."""

    def read() -> SentModel:
        return SentModel(compile_model(parse_model(text, largest=len(text)), backend=backend, progress=False))

    return _once(fingerprint, backend, read)


def arrived_function(build: Callable[[], Compilable], fingerprint: str) -> SentModel:
    """The same; E366 where it turns out as another one here."""
    found = _once(fingerprint, "", lambda: sent_model(build, progress=False))
    if found.fingerprint != fingerprint:
        cure = "a function that builds the same graph at every call, of the same file on every machine"
        name = found.compiled.model.name
        raise refusal("E366", "the function builds another model in a worker", cure, about=name, places=())
    return found


def _once(fingerprint: str, backend: str, make: Callable[[], SentModel]) -> SentModel:
    with _lock:
        if (fingerprint, backend) not in _here:
            found = make()
            while len(_here) >= _MOST:
                del _here[next(iter(_here))]
            _here[fingerprint, backend] = found
        return _here[fingerprint, backend]


_known = dict[int, tuple[str, tuple[str, ...], str]]()
"""What compiled models have been told to be, by their identities, as long as they live."""


def _told(compiled: Compiled) -> tuple[str, tuple[str, ...], str]:
    """The text of a model, why it has none, and its fingerprint."""
    own = id(compiled)
    if own not in _known:
        text, why = _text(compiled)
        _known[own] = text, why, _digest(_without_places(json.loads(text))) if text else _by_numbers(compiled)
        weakref.finalize(compiled, _known.pop, own, None).atexit = False
    return _known[own]


def _text(compiled: Compiled) -> tuple[str, tuple[str, ...]]:
    """The model as text; "" and why, where it has a law of the user's that no text holds."""
    try:
        return dump_model(compiled), ()
    except ModelError as error:
        return "", tuple(line for problem in error.problems for line in (problem.title, *problem.details))


def _without_places(value: Any) -> Any:
    """The same without lines of source files: who writes one above the model changes no run."""
    if isinstance(value, dict):
        return {key: _without_places(one) for key, one in value.items() if not (key == "place" and isinstance(one, list))}
    return [_without_places(one) for one in value] if isinstance(value, list) else value


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def _by_numbers(compiled: Compiled) -> str:
    """A digest of names, units, shapes, numbers, and of what the equations give near the start."""
    system, program = compiled.system, compiled.program
    (x, m), p = compiled.initial(), compiled.parameters()
    named = sorted((name, value.unit, value.shape) for name, value in system.values.items())
    parts = [repr((compiled.model.name, named, sorted(system.modes.items()))), x.tolist(), p.tolist(), m.tolist()]
    for at in (x, x + 0.1 * program.typical):
        for kernel in (program.rates, program.guards, program.powers, program.energies):
            with np.errstate(all="ignore"):
                parts.append([] if kernel is None else kernel(0.0, at, p, m).tolist())
    return _digest(parts)
