"""Random number streams of the runs of a sweep: a stream for each run and name, seeded for many runs in one call.

The states are those of `default_rng(SeedSequence(seed, spawn_key=(run, word)))`, whose bit generator is PCG64 (NumPy's
random/bit_generator.pyx; O'Neill, "PCG", 2014). Seeding the streams one by one would take ten times as long as drawing a number.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator

import numpy as np

_POOL = 4
_ENTROPY, _STATE = (0x43B0D7E5, 0x931E8875), (0x8B51F9DD, 0x58F38DED)
"""Initial constants and multipliers of the hashes of entropy and state."""
_LEFT, _RIGHT, _HALF = np.uint32(0xCA01F9DD), np.uint32(0x4973F715), np.uint32(16)
_STEP = 0x2360ED051FC65DA44385DF649FCCF645
"""Multiplier of the generator PCG64."""
_WORD, _LONG = 2**32 - 1, 2**128 - 1


def random_streams(seed: int, name: str, runs: np.ndarray) -> Iterator[np.random.Generator]:
    """Yield the generator of each of the ascending `runs` (k,); each generator is valid until the next is yielded."""
    bits = np.random.PCG64(0)
    generator = np.random.Generator(bits)
    word = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
    parts = (_seeds(seed, part, word) for part in (runs[runs <= _WORD], runs[runs > _WORD]))
    for high, low, high_step, low_step in itertools.chain(*parts):
        step = ((high_step << 64 | low_step) << 1 | 1) & _LONG
        state = (((high << 64 | low) + step) * _STEP + step) & _LONG
        bits.state = {"bit_generator": "PCG64", "has_uint32": 0, "uinteger": 0, "state": {"state": state, "inc": step}}
        yield generator


def _seeds(seed: int, runs: np.ndarray, word: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield `SeedSequence(seed, spawn_key=(run, word)).generate_state(4, np.uint64)` for each of the runs."""
    words = [seed >> 32 * k & _WORD for k in range(max(_POOL, -(-seed.bit_length() // 32)))]
    entropy = [np.array([each], dtype=np.uint32) for each in words]
    entropy += [(runs >> 32 * k & _WORD).astype(np.uint32) for k in range(1 + bool(np.any(runs > _WORD)))]
    entropy.append(np.array([word], dtype=np.uint32))
    hashed = _hash(*_ENTROPY)
    pool = [hashed(each) for each in entropy[:_POOL]]
    for source in range(_POOL):
        for target in range(_POOL):
            if source != target:
                pool[target] = _mixed(pool[target], hashed(pool[source]))
    for each in entropy[_POOL:]:
        for target in range(_POOL):
            pool[target] = _mixed(pool[target], hashed(each))
    hashed = _hash(*_STATE)
    halves = [hashed(pool[k % _POOL]).astype(np.uint64) for k in range(8)]
    low_first = ((halves[2 * k] | halves[2 * k + 1] << np.uint64(32)).tolist() for k in range(4))
    return zip(*low_first, strict=True)


def _hash(constant: int, multiplier: int) -> Callable[[np.ndarray], np.ndarray]:
    def hashed(words: np.ndarray) -> np.ndarray:
        nonlocal constant
        words = words ^ np.uint32(constant)
        constant = constant * multiplier & _WORD
        words = words * np.uint32(constant)
        return words ^ words >> _HALF

    return hashed


def _mixed(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    mixed: np.ndarray = x * _LEFT - y * _RIGHT
    return mixed ^ mixed >> _HALF
