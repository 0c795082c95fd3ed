"""Send the model of a sweep to workers: as it is in this process; as a text, compiled once, in others."""

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
from bondgraph.run_arguments import KeepOptions, RunSettings

Source = Compilable | Callable[[], Compilable]
"""Argument `model` of a sweep: a graph, a model, a compiled model, or a function that builds one."""

_CACHE_SIZE = 4
"""Compiled models that a worker caches."""
_worker_models: dict[tuple[str, str], SentModel] = {}
_lock = threading.Lock()


class SentModel:
    """Compiled model with its fingerprint, as it is sent to workers.

    Another process receives its text, and compiles that; or, without a text, the function that builds it.
    """

    def __init__(self, compiled: Compiled, build: Callable[[], Compilable] | None = None):
        self.compiled, self.build = compiled, build
        self.backend = "llvm" if compiled.program.rates.is_machine_code else "numpy"
        self._lock, self._bound = threading.Lock(), cast("tuple[Mapping[str, Any], PreparedRun] | None", None)
        self.text, self.why, self.fingerprint = _text_and_fingerprint(compiled)

    def prepared(self, t_end: float, settings: Mapping[str, Any]) -> PreparedRun:
        """Return runs with these settings, bound once for all chunks with the same ones, and for later sweeps."""
        with self._lock:
            if self._bound is None or self._bound[0] is not settings:
                quiet = cast(RunSettings, {**settings, "progress": False})
                self._bound = settings, shared_runs(self.compiled, t_end, KeepOptions(), quiet)
            return self._bound[1]

    def __reduce__(self) -> tuple[Callable[..., SentModel], tuple[object, ...]]:
        if self.text and not self.compiled.system.starts:
            return model_from_text, (self.text, self.backend, self.fingerprint)
        if self.build is not None:
            return model_from_function, (self.build, self.fingerprint)
        why = self.why or ("functions give its start values, which a text holds as they were found",)
        cures = ("sweep(function, ...), with a function of a module that builds the graph", "executor=None, for threads")
        name = self.compiled.model.name
        raise refusal("E366", "other processes cannot have this model", *cures, about=name, why=why, places=())


def sent_model(model: Source, *, progress: bool) -> SentModel:
    """Return the compiled model; E100 for anything else."""
    if not isinstance(model, Compilable) and callable(model):
        built = model()
        if not isinstance(built, Compilable):
            raise no_model(built, "sweep")
        return SentModel(compiled_form(built, "sweep", progress=progress), model)
    return SentModel(compiled_form(model, "sweep", progress=progress))


def model_from_text(text: str, backend: str, fingerprint: str) -> SentModel:
    """Return the model in a worker, compiled at its first arrival."""

    def read() -> SentModel:
        return SentModel(compile_model(parse_model(text, largest=len(text)), backend=backend, progress=False))

    return _cached(fingerprint, backend, read)


def model_from_function(build: Callable[[], Compilable], fingerprint: str) -> SentModel:
    """Return the model that a function builds in a worker; E366 where its fingerprint differs from the sender's."""
    model = _cached(fingerprint, "", lambda: sent_model(build, progress=False))
    if model.fingerprint != fingerprint:
        cure = "a function that builds the same graph at every call, of the same file on every machine"
        name = model.compiled.model.name
        raise refusal("E366", "the function builds another model in a worker", cure, about=name, places=())
    return model


def _cached(fingerprint: str, backend: str, make: Callable[[], SentModel]) -> SentModel:
    with _lock:
        if (fingerprint, backend) not in _worker_models:
            model = make()
            while len(_worker_models) >= _CACHE_SIZE:
                del _worker_models[next(iter(_worker_models))]
            _worker_models[fingerprint, backend] = model
        return _worker_models[fingerprint, backend]


_texts = dict[int, tuple[str, tuple[str, ...], str]]()
"""Texts and fingerprints of compiled models by `id`, as long as these live."""


def _text_and_fingerprint(compiled: Compiled) -> tuple[str, tuple[str, ...], str]:
    """Return the text of a model, why it has none, and its fingerprint; cached."""
    key = id(compiled)
    if key not in _texts:
        text, why = _text(compiled)
        _texts[key] = text, why, _digest(_without_lines(json.loads(text))) if text else _digest_of_values(compiled)
        weakref.finalize(compiled, _texts.pop, key, None).atexit = False
    return _texts[key]


def _text(compiled: Compiled) -> tuple[str, tuple[str, ...]]:
    """Return the model as text; "" and the reasons, where it has a law of the user's that no text holds."""
    try:
        return dump_model(compiled), ()
    except ModelError as error:
        return "", tuple(line for problem in error.problems for line in (problem.title, *problem.details))


def _without_lines(value: Any) -> Any:
    """Return JSON without the lines of source files, since a line added above the model changes no run."""
    if isinstance(value, dict):
        return {key: _without_lines(item) for key, item in value.items() if not (key == "place" and isinstance(item, list))}
    return [_without_lines(item) for item in value] if isinstance(value, list) else value


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def _digest_of_values(compiled: Compiled) -> str:
    """Return a digest of names, units, shapes, numbers, and of values of the equations near the start."""
    system, program = compiled.system, compiled.program
    (x, m), p = compiled.initial(), compiled.parameters()
    described = sorted((name, value.unit, value.shape) for name, value in system.values.items())
    parts = [repr((compiled.model.name, described, sorted(system.modes.items()))), x.tolist(), p.tolist(), m.tolist()]
    for at in (x, x + 0.1 * program.typical):
        for kernel in (program.rates, program.guards, program.powers, program.energies):
            with np.errstate(all="ignore"):
                parts.append([] if kernel is None else kernel(0.0, at, p, m).tolist())
    return _digest(parts)
