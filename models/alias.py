"""Alias `models`, the old name of `screwbond.models`: both names import the same modules.

A checkout makes the alias when its folder is imported by the old name; a wheel also has this file as the module `models`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import CodeType, ModuleType
from typing import Any


class _AliasFinder:
    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not fullname.startswith("models.") or sys.modules.get("models") is not sys.modules["screwbond.models"]:
            return None  # another distribution's `models`
        spec = find_spec(f"screwbond.{fullname}")
        return None if spec is None else ModuleSpec(fullname, self, origin=spec.origin)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(f"screwbond.{spec.name}")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = module.__spec__.loader_state  # type: ignore[union-attr]

    def get_code(self, fullname: str) -> CodeType | None:
        spec = find_spec(f"screwbond.{fullname}")
        return spec.loader.get_code(spec.name)  # type: ignore


def make_alias() -> None:
    sys.modules["models"] = import_module("screwbond.models")
    if not any(isinstance(finder, _AliasFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AliasFinder())  # type: ignore[arg-type]


if __name__ == "models":
    make_alias()
