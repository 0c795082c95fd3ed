"""Reader of binary glTF files, written from the specification, which checks the structure."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

COMPONENTS = {5126: "<f4", 5125: "<u4", 5123: "<u2"}
WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}


@dataclass(frozen=True)
class Glb:
    document: dict[str, Any]
    data: bytes

    @classmethod
    def of(cls, raw: bytes) -> Glb:
        """Read the header and both chunks (glTF 2.0, section 4.4)."""
        magic, version, length = struct.unpack_from("<4sII", raw)
        assert (magic, version, length) == (b"glTF", 2, len(raw))
        size, kind = struct.unpack_from("<I4s", raw, 12)
        assert kind == b"JSON" and size % 4 == 0
        second, kind = struct.unpack_from("<I4s", raw, 20 + size)
        assert kind == b"BIN\0" and second % 4 == 0 and 28 + size + second == len(raw)
        document = json.loads(raw[20 : 20 + size])
        assert document["asset"]["version"] == "2.0" and document["buffers"] == [{"byteLength": second}]
        return cls(document, raw[28 + size :])

    def array(self, number: int) -> np.ndarray:
        one = self.document["accessors"][number]
        view, width, kind = self.document["bufferViews"][one["bufferView"]], WIDTHS[one["type"]], COMPONENTS[one["componentType"]]
        values = np.frombuffer(self.data, kind, one["count"] * width, view["byteOffset"])
        assert values.nbytes == view["byteLength"]
        return values if width == 1 else values.reshape(-1, width)

    @property
    def names(self) -> list[str]:
        return [node["name"] for node in self.document["nodes"]]

    def node(self, name: str) -> dict[str, Any]:
        return dict(self.document["nodes"][self.names.index(name)])

    def times(self) -> np.ndarray:
        (number,) = {sampler["input"] for sampler in self.document["animations"][0]["samplers"]}
        return self.array(number)

    def course(self, name: str, path: str) -> np.ndarray:
        """Return a node's translation, rotation or scale over time (k, 3 or 4), or the constant (1, 3 or 4)."""
        for animation in self.document.get("animations", []):
            for channel in animation["channels"]:
                if channel["target"] == {"node": self.names.index(name), "path": path}:
                    return self.array(animation["samplers"][channel["sampler"]]["output"])
        default = {"translation": [0.0] * 3, "rotation": [0.0, 0.0, 0.0, 1.0], "scale": [1.0] * 3}[path]
        return np.array([self.node(name).get(path, default)])

    def placed(self, name: str, points: Any) -> np.ndarray:
        """Return points (j, 3) of a node in the parent's axes over time, (k, j, 3)."""
        p, q, s = (self.course(name, path) for path in ("translation", "rotation", "scale"))
        count = max(len(p), len(q), len(s))
        turn = Rotation.from_quat(q.astype(float)).as_matrix()
        p, turn, s = (np.broadcast_to(one, (count, *one.shape[1:])) for one in (p, turn, s))
        return np.einsum("kij,kmj->kmi", turn, np.asarray(points) * s[:, None]) + p[:, None]

    def primitives(self, name: str) -> list[dict[str, Any]]:
        return list(self.document["meshes"][self.node(name)["mesh"]]["primitives"])

    def check(self) -> None:
        document, end = self.document, 0
        for view in document["bufferViews"]:
            assert view["byteOffset"] % 4 == 0 and view["byteOffset"] >= end
            end = view["byteOffset"] + view["byteLength"]
        assert end <= len(self.data) < end + 4
        for number, one in enumerate(document["accessors"]):
            values = self.array(number)
            assert np.isfinite(values).all()
            for side, extreme in (("min", values.min), ("max", values.max)):
                assert side not in one or np.array_equal(np.float32(one[side]), np.atleast_1d(extreme(axis=0)))
        for mesh in document["meshes"]:
            for primitive in mesh["primitives"]:
                self._check_primitive(primitive)
        children = [child for node in document["nodes"] for child in node.get("children", [])]
        roots = document["scenes"][document["scene"]]["nodes"]
        assert sorted([*children, *roots]) == list(range(len(document["nodes"])))
        targets = []
        for animation in document.get("animations", []):
            for channel in animation["channels"]:
                targets.append((channel["target"]["node"], channel["target"]["path"]))
                self._check_course(animation["samplers"][channel["sampler"]], channel["target"]["path"])
        assert len(set(targets)) == len(targets)
        extensions = {name for material in document["materials"] for name in material.get("extensions", {})}
        assert sorted(extensions) == document.get("extensionsUsed", [])
        used = {primitive["material"] for mesh in document["meshes"] for primitive in mesh["primitives"]}
        assert used == set(range(len(document["materials"])))

    def _check_primitive(self, primitive: dict[str, Any]) -> None:
        points, index = self.array(primitive["attributes"]["POSITION"]), self.array(primitive["indices"])
        assert {"min", "max"} <= set(self.document["accessors"][primitive["attributes"]["POSITION"]])
        assert index.max() < len(points) and index.max() < np.iinfo(index.dtype).max
        assert len(index) % (2 if primitive.get("mode") == 1 else 3) == 0
        if primitive.get("mode") != 1:
            normals = self.array(primitive["attributes"]["NORMAL"])
            assert len(normals) == len(points) and np.allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-6)

    def _check_course(self, sampler: dict[str, Any], path: str) -> None:
        times, values = self.array(sampler["input"]), self.array(sampler["output"])
        one = self.document["accessors"][sampler["input"]]
        assert times[0] == 0.0 and (np.diff(times) > 0.0).all() and len(times) == len(values) and {"min", "max"} <= set(one)
        if path == "rotation":
            assert np.allclose(np.linalg.norm(values, axis=1), 1.0, atol=1e-6)
            assert (np.sum(values[1:] * values[:-1], axis=1) > 0.0).all()
