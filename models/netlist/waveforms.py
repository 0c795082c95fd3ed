"""Waveforms of independent sources of a netlist: constants, SIN, PULSE and PWL, as ngspice defines them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from screwbond.models.netlist.flattening import Device

from screws.scalars import exp, floor, interpolate, maximum, minimum, sin

KINDS = ("sin", "pulse", "pwl")


@dataclass(frozen=True)
class Transient:
    """Step and end of a .tran card, s, which are defaults of waveforms, or zero without a card."""

    step: float = 0.0
    end: float = 0.0


def sine(t: Any, offset: Any, amplitude: Any, frequency: Any, delay: Any, damping: Any, phase: Any) -> Any:
    """Return SIN(offset amplitude frequency delay damping phase) at the time t, s, with the phase in degrees."""
    s = maximum(t - delay, 0.0)
    return offset + amplitude * exp(-damping * s) * sin(2.0 * math.pi * frequency * s + phase * (math.pi / 180.0))


def pulses(t: Any, low: Any, high: Any, delay: Any, rise: Any, fall: Any, width: Any, period: Any) -> Any:
    s = maximum(t - delay, 0.0)
    s = s - period * floor(s / period)
    rising, falling = minimum(s / rise, 1.0), minimum(maximum((s - rise - width) / fall, 0.0), 1.0)
    return low + (high - low) * (rising - falling)


def waveform(device: Device, words: Sequence[str], transient: Transient) -> tuple[Any, dict[str, float]]:
    """Return the value of a source and its parameters: a number and {}, or a function of the time and of the parameters.

    Raises `ModelError` E640 for an invalid waveform.
    """
    constants, place = list[float](), 0
    while place < len(words) and words[place] not in KINDS:
        word = words[place]
        if word == "ac":
            place += 1
            while place < len(words) and words[place] not in (*KINDS, "dc"):
                place += 1
            continue
        if word != "dc":
            constants.append(device.value(word))
        place += 1
    if len(constants) > 1:
        raise device.card.error("E640", f'"{device.name}" has {len(constants)} constant values', "one constant value")
    if place == len(words):
        return sum(constants), {}
    kind, numbers = words[place], [device.value(word) for word in words[place + 1 :]]
    if kind == "pwl":
        return _piecewise(device, numbers), {}
    read: Callable[..., tuple[Any, dict[str, float]]] = _sine if kind == "sin" else _pulses
    return read(device, numbers, transient)


def _sine(device: Device, numbers: list[float], transient: Transient) -> tuple[Any, dict[str, float]]:
    if not 2 <= len(numbers) <= 6:
        raise device.card.error("E640", f'"{device.name}": SIN needs two to six numbers', "SIN(offset amplitude frequency)")
    frequency = numbers[2] if len(numbers) > 2 and numbers[2] else _default_frequency(device, transient.end)
    numbers = [*numbers[:2], frequency, *numbers[3:], 0.0, 0.0, 0.0][:6]
    return sine, dict(zip(("offset", "amplitude", "frequency", "delay", "damping", "phase"), numbers, strict=True))


def _pulses(device: Device, numbers: list[float], transient: Transient) -> tuple[Any, dict[str, float]]:
    if not 2 <= len(numbers) <= 7:
        cure = "PULSE(low high delay rise fall width period)"
        raise device.card.error("E640", f'"{device.name}": PULSE needs two to seven numbers', cure)
    low, high, delay, rise, fall, width, period = [*numbers, *[0.0] * 5][:7]
    defaults = (transient.step, transient.step, transient.end, transient.end)
    filled = [value or default for value, default in zip((rise, fall, width, period), defaults, strict=True)]
    if min(filled) <= 0:
        cure = "rise, fall, width and period of PULSE, or .tran, whose step and end are their defaults"
        raise device.card.error("E640", f'"{device.name}": a time of PULSE is missing, zero or negative', cure)
    names = ("low", "high", "delay", "rise", "fall", "width", "period")
    return pulses, dict(zip(names, (low, high, delay, *filled), strict=True))


def _piecewise(device: Device, numbers: list[float]) -> Callable[[Any], Any]:
    times, values = numbers[::2], numbers[1::2]
    ascending = all(before < after for before, after in itertools.pairwise(times))
    if len(times) < 2 or len(times) != len(values) or not ascending:
        raise device.card.error("E640", f'"{device.name}": PWL needs pairs (time, value) with ascending times', "PWL(0 0 1m 5)")
    return lambda t: interpolate(t, times, values)


def _default_frequency(device: Device, end: float) -> float:
    if end <= 0:
        raise device.card.error("E640", f'"{device.name}": the frequency of SIN is missing', "SIN(offset amplitude frequency)")
    return 1.0 / end
