"""Error weights of states, independent of units: running sizes, natural scales and rounding noise.

    w_i = rtol max(size_i, |x_i|, floor_i) + h noise_i

`size` is the largest |x_i| at the ends of accepted steps, after ticks and after resets, unless `decayed_states` lowers it;
`floor` is a fraction of the natural scale (`natural_scales`), or the user's `atol` / rtol; `noise`, zero until noise is
suspected, is the measured rounding error of the rates (`rounding_noise`) times the factor by which a step accumulates it. If
nothing drives x_i, w_i is `MIN_ERROR`. `callback_refresh`, `callback_test_noise` and `callback_decay` call Python instead.
"""

from __future__ import annotations

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.kernel_language.language import Reals, finite, larger, smaller
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure
from bondgraph.run.accuracy.balancing import fastest, fastest_by_cycles, propagate
from bondgraph.run.accuracy.decayed_states import follow_decay, rates_of_decayed, runs_away
from bondgraph.run.accuracy.fields import MODE_SETS, Control
from bondgraph.run.accuracy.natural_scales import (
    couplings,
    idle_energy,
    local_scales,
    measure_terms,
    natural_scales,
    raise_resting,
)
from bondgraph.run.accuracy.rounding_noise import rounding
from bondgraph.run.kernel_functions import formula_time

SCALE_PART = 0.1
"""Fraction of the natural scale relative to which errors of a smaller state are measured."""
MAX_GUESS = 1e3
"""Largest scale of the guess for a loop unknown, relative to its size: a scale from the drivers alone can be far too large."""
RENEWALS = tuple(2**k for k in range(2, 12))
"""Numbers of steps after which the scales are updated."""
NEVER = 2**62
ACCUMULATED_NOISE, MAX_NOISE_GAIN = 8.0, 64.0
"""A step accumulates ACCUMULATED_NOISE rounding errors of a rate per square root of the number of states; repeated noise
tests raise this number by at most the factor MAX_NOISE_GAIN."""
NOISE_TEST_INTERVALS = (2, 4, 4096)
"""Numbers of rejected steps before a noise test: at first, after noise was found, and at most."""
RETRIES_BEFORE_TEST, DECISIVE = 3, 10.0
"""RETRIES_BEFORE_TEST rejections of one step lead to a measurement of noise before a noise test is due; this number doubles after
each such measurement. Such a measurement uses DECISIVE times the tolerance, because the noise must explain the rejections."""
PERSISTENT = 2.0
"""Minimum noise gain for which the noise of drivers is included: steps were still rejected after the noise had been measured."""
MAX_DRIVEN = 1e-3
"""Largest change of a state that is not at rest, by the noise of its drivers over the longest step, relative to its size."""
SIGNIFICANT, POWER_ROUNDING = 0.1, 1e-6
"""Noise matters above the fraction SIGNIFICANT of the tolerance; the noise of a power is rounding error below the fraction
POWER_ROUNDING of the largest power."""
ZERO_ENERGY, VISIBLE_ENERGY, TRIAL_FACTORS, USUAL_STEP = 1e-24, 1e-6, 30, 1e-3
"""ZERO_ENERGY and VISIBLE_ENERGY are the fractions of the energy scale that count as zero, and as visible beside other
energies. TRIAL_FACTORS is the number of trial displacements; USUAL_STEP is a typical step as a fraction of the longest
step."""


def procedures() -> list[Procedure]:
    functions = (
        *(weights_begin, weights_refresh, weights_raise_sizes, weights_test_noise, weights_decay, weights_reset),
        *(weights_follow_decay, follow_decay, runs_away, rates_of_decayed),
        *(callback_refresh, callback_test_noise, callback_decay, callback_follow_decay),
        *(fastest, fastest_by_cycles, propagate, couplings, local_scales, rounding, at_rest),
    )
    return translate(functions, [function.__name__ for function in functions])


@build_once
def machine_code() -> Library:
    return compile_written(procedures, passes=1)


def weights_raise_sizes(w: Control, x: Reals) -> None:
    size = w.size
    for i in range(w.n):
        if finite(x[i]):
            size[i] = larger(size[i], abs(x[i]))


def weights_begin(w: Control, t: float, x: Reals, q: Reals, m: Reals) -> None:
    n, size, scale, floor, moved, held, beyond = w.n, w.size, w.scale, w.floor, w.moved, w.held, w.beyond
    weights_raise_sizes(w, x)
    is_known = has_begun_modes(w, m)
    for i in range(n):
        if larger(size[i], scale[i]) == 0.0:
            is_known = False
    if not is_known:
        weights_refresh(w, t, x, m)
    for i in range(n):
        moved[i] = x[i] + w.rtol * larger(size[i], floor[i])
    energies_at(w, t, x, m, held)
    energies_at(w, t, moved, m, beyond)
    energy, blur, work = 0.0, 0.0, 0.0
    for i in range(w.storages):
        energy += abs(held[i])
        blur += abs(beyond[i] - held[i])
    for i in range(w.quadratures):
        work = larger(work, abs(q[i]))
    # Energy below the rounding errors of the states is not a measure of errors.
    if energy + work > blur:
        w.energy = larger(w.energy, energy + work)
    set_power_floors(w)


def has_begun_modes(w: Control, m: Reals) -> bool:
    count, seen = w.modes, w.seen
    for k in range(w.seen_count):
        is_same = True
        for i in range(count):
            if seen[k * count + i] != m[i]:
                is_same = False
        if is_same:
            return True
    slot = w.seen_next
    for i in range(count):
        seen[slot * count + i] = m[i]
    w.seen_next = 0 if slot + 1 == MODE_SETS else slot + 1
    w.seen_count = min(w.seen_count + 1, MODE_SETS)
    return False


def weights_refresh(w: Control, t: float, x: Reals, m: Reals) -> None:
    size, scale, floor, moved, held, beyond = w.size, w.scale, w.floor, w.moved, w.held, w.beyond
    natural_scales(w, t, x, m)
    for i in range(w.n):
        scale[i] = larger(w.scales[i], w.nominal[i])
    measure_terms(w, t, x, m)
    raise_resting(w)
    for i in range(w.n):
        if w.guesses[i] == 1.0 and w.has_moved[i] == 1.0:
            scale[i] = smaller(scale[i], size[i] * MAX_GUESS)
        absolute, relative = w.absolute[i], scale[i] * SCALE_PART
        floor[i] = absolute if w.has_absolute else relative
        moved[i] = x[i] + scale[i]
    energies_at(w, t, x, m, held)
    energies_at(w, t, moved, m, beyond)
    total = 0.0
    for i in range(w.storages):
        change = abs(beyond[i] - held[i])
        if finite(change):
            total += change
    w.spread = total * SCALE_PART
    w.idle = larger(w.idle, idle_energy(w, t, x, m) * SCALE_PART)
    set_power_floors(w)


def set_power_floors(w: Control) -> None:
    floor = w.floor[w.n :]
    for i in range(w.quadratures):
        floor[i] = larger(larger(w.energy, w.spread), w.idle)


def energies_at(w: Control, t: float, x: Reals, m: Reals, out: Reals) -> None:
    if w.storages > 0:
        w.energies(formula_time(w, t), x, w.p, m, out)


# States at rest.


def energy_per_square(w: Control, t: float, x: Reals, m: Reals, state: int) -> float:
    """Return the largest energy of a storage per squared displacement of a state, by second differences; 0 if no energy is
    visible. The displacement grows, because small energies are lost in the rounding errors of other energies."""
    n, squares, modes, moved, at_x, above, below = w.n, w.squares, w.square_modes, w.moved, w.held, w.beyond, w.sharp
    for i in range(w.modes):
        if modes[i] != m[i]:
            modes[i] = m[i]
            w.modes_known = False
    if not w.modes_known:
        w.modes_known = True
        for i in range(n):
            squares[i] = -1.0
    if squares[state] >= 0.0:
        return squares[state]
    squares[state] = 0.0
    energies_at(w, t, x, m, at_x)
    for i in range(n):
        moved[i] = x[i]
    size = larger(w.size[state], w.scale[state])
    for power in range(TRIAL_FACTORS):
        along, most = size * w.ladder[power], -1.0
        moved[state] = x[state] + along
        energies_at(w, t, moved, m, above)
        moved[state] = x[state] - along
        energies_at(w, t, moved, m, below)
        for i in range(w.storages):
            even = abs(above[i] + below[i] - at_x[i] * 2.0)
            if finite(even) and even > larger(abs(at_x[i]), w.energy) * VISIBLE_ENERGY:
                most = larger(most, even)
        if most >= 0.0:
            squares[state] = most / along / along / 2.0
            return squares[state]
    return 0.0


def has_zero_energy(w: Control, state: int) -> bool:
    size = w.size[state]
    return w.squares[state] * (size * size) < w.energy * ZERO_ENERGY


def at_rest(w: Control, t: float, x: Reals, m: Reals, state: int) -> bool:
    """Return True if a symmetry forbids motion of a state: its energy has never exceeded the rounding error of the energy scale.
    A state without energy of its own, such as a free angle, is at rest if states with energy drive it and all these states are
    at rest."""
    apart = w.apart
    if energy_per_square(w, t, x, m, state) > 0.0:
        return has_zero_energy(w, state)
    if not w.resting:
        w.resting = True
        for i in range(w.n):
            apart[i] = larger(w.size[i], w.scale[i])
        couplings(w, t, apart, m)
    structure, is_moving = w.pattern.structure, False
    for k in range(structure.couplings):
        if structure.rows[k] == state and energy_per_square(w, t, x, m, structure.columns[k]) > 0.0:
            is_moving = True
            if not has_zero_energy(w, structure.columns[k]):
                return False
    return is_moving


# Noise.


def measure_noise(w: Control, t: float, x: Reals, m: Reals, h: float, relative: float, implicit: bool) -> bool:
    """Measure the noise of rates and powers; keep it and return True if the noise matters for a step of length h. An implicit
    method damps the noise of fast parts."""
    n, noise, driven, size, floor, speed = w.n, w.sigma, w.driven, w.size, w.floor, w.speed
    values, sharp, kept, width = w.values, w.sharp, w.noise, w.n + w.quadratures
    rounding(w, t, x, m)
    largest = 0.0
    if w.quadratures > 0:
        w.powers(formula_time(w, t), x, w.p, m, sharp)
        for i in range(w.quadratures):
            largest = larger(largest, abs(sharp[i]))
    collected = w.collected * w.boost
    for i in range(width):
        noise[i] = collected * noise[i]
    couplings(w, t, x, m)
    for i in range(n):
        driven[i] = 0.0
        if implicit:
            speed[i] = w.diagonal[i]
    # Within a step, a position that a symmetry holds at zero moves by the noise of its velocity.
    structure = w.pattern.structure
    for k in range(structure.couplings):
        row = structure.rows[k]
        driven[row] = driven[row] + values[k] * noise[structure.columns[k]]
    w.resting = False
    for i in range(n):
        driven[i] = h * driven[i]
        tolerance = relative * larger(size[i], floor[i])
        if h * driven[i] > tolerance * SIGNIFICANT and at_rest(w, t, x, m, i):
            noise[i] = noise[i] + driven[i]
    if w.quadratures > 0:
        add_noise_of_powers(w, t, x, m, noise, larger(h, w.longest * USUAL_STEP))
    # Near a singular point, such as the logarithm of zero, a power may scatter by more than rounding errors: noise counts only if
    # it is small, or exceeds the energy scale.
    is_significant = False
    for i in range(width):
        if not (i < n or noise[i] < largest * POWER_ROUNDING or h * noise[i] >= floor[i]):
            noise[i] = 0.0
        moves = h * noise[i] / (h * speed[i] + 1.0)
        tolerance = relative * larger(size[i], floor[i])
        if moves > tolerance * SIGNIFICANT and noise[i] > 0.0:
            is_significant = True
    if is_significant and w.boosted >= PERSISTENT:
        add_noise_of_drivers(w, t, x, m, h, relative)
    for i in range(width):
        kept[i] = noise[i] if is_significant else 0.0
    return is_significant


def add_noise_of_powers(w: Control, t: float, x: Reals, m: Reals, noise: Reals, h: float) -> None:
    n, moved, sharp, blurred = w.n, w.moved, w.sharp, w.beyond
    for i in range(n):
        moved[i] = x[i] + h * noise[i]
    w.powers(formula_time(w, t), x, w.p, m, sharp)
    w.powers(formula_time(w, t), moved, w.p, m, blurred)
    for i in range(w.quadratures):
        noise_of_power = abs(blurred[i] - sharp[i])
        if finite(noise_of_power):
            noise[n + i] = noise[n + i] + noise_of_power


def add_noise_of_drivers(w: Control, t: float, x: Reals, m: Reals, h: float, relative: float) -> None:
    """Add the noise of a state's drivers to the noise of the state, where it is significant over the longest step and the state
    or the driver is at rest, or smaller than its noise over the run so far."""
    n, noise, values, driven, size, floor = w.n, w.sigma, w.values, w.driven, w.size, w.floor
    significant, rest = w.third, w.fourth
    longest, is_any = larger(h, w.longest), False
    couplings(w, t, x, m)
    for i in range(n):
        driven[i] = 0.0
    structure = w.pattern.structure
    for k in range(structure.couplings):
        row = structure.rows[k]
        driven[row] = driven[row] + values[k] * noise[structure.columns[k]]
    for i in range(n):
        tolerance = relative * larger(size[i], floor[i])
        is_significant = longest * (longest * driven[i]) > SIGNIFICANT * tolerance
        significant[i] = 1.0 if is_significant else 0.0
        rest[i] = significant[i]
        driven[i] = 0.0
        if is_significant:
            is_any = True
    if not is_any:
        return
    for k in range(structure.couplings):
        if significant[structure.rows[k]] == 1.0:
            rest[structure.columns[k]] = 1.0
    w.resting = False
    for i in range(n):
        if rest[i] == 1.0 and not size[i] <= t * noise[i]:
            rest[i] = 1.0 if at_rest(w, t, x, m, i) else 0.0
    couplings(w, t, x, m)  # `at_rest` has evaluated the couplings at other states
    graph = w.pattern.structure
    for k in range(graph.couplings):
        row, column = graph.rows[k], graph.columns[k]
        counts = significant[row] == 1.0 and (rest[row] == 1.0 or rest[column] == 1.0)
        driven[row] = driven[row] + (values[k] * noise[column] if counts else 0.0)
    for i in range(n):
        most = MAX_DRIVEN * larger(size[i], floor[i]) / longest
        in_longest = longest * driven[i]
        noise[i] = noise[i] + (in_longest if rest[i] == 1.0 else smaller(in_longest, most))


def weights_test_noise(w: Control, t: float, x: Reals, m: Reals, h: float, relative: float, implicit: bool) -> None:
    weights_refresh(w, t, x, m)
    noise, is_noisy = w.noise, False
    for i in range(w.n + w.quadratures):
        if noise[i] != 0.0:
            is_noisy = True
    if is_noisy:
        w.boost = smaller(w.boost * 2.0, MAX_NOISE_GAIN)
        w.boosted = larger(w.boosted, w.boost)
    is_significant = measure_noise(w, t, x, m, h, relative, implicit)
    if not is_significant:  # sums may cancel exactly where the step begins
        w.rates(formula_time(w, t), x, w.p, m, w.at_end)
        for i in range(w.n):
            w.at_end[i] = x[i] + h * w.at_end[i]
        is_significant = measure_noise(w, t + h, w.at_end, m, h, relative, implicit)
    w.rejections_before_test = (
        NOISE_TEST_INTERVALS[1] if is_significant else min(w.rejections_before_test * 2, NOISE_TEST_INTERVALS[2])
    )


def weights_decay(w: Control, t: float, x: Reals, m: Reals, h: float, relative: float, implicit: bool) -> None:
    w.boost = larger(w.boost * 0.5, 1.0)
    measure_noise(w, t, x, m, h, relative, implicit)


def weights_follow_decay(w: Control, t: float, x: Reals, m: Reals, recent: Reals) -> None:
    if follow_decay(w, t, x, m, recent):
        weights_refresh(w, t, x, m)


def weights_reset(w: Control) -> None:
    squares, scale = w.squares, w.scale
    for name in ("size", "floor", "noise", "exceeded", "speed"):
        values = getattr(w, name)
        for i in range(w.n + w.quadratures):
            values[i] = 0.0
    for i in range(w.n):
        scale[i] = 0.0
        w.has_moved[i] = 0.0
        w.terms[i] = 0.0
        squares[i] = -1.0
    w.energy, w.spread, w.idle, w.boost, w.boosted = 0.0, 0.0, 0.0, 1.0, 1.0
    w.seen_count, w.seen_next, w.scaled, w.rejections_before_test = 0, 0, 0, NOISE_TEST_INTERVALS[0]
    w.modes_known, w.resting, w.coupled, w.ahead, w.rated = False, False, False, False, False


# Error weights in Python.


def callback_refresh(w: Control, t: float, x: Reals, m: Reals) -> None:
    c = w.callbacks
    c.t, c.x, c.m = t, x, m
    c.refresh()


def callback_test_noise(w: Control, t: float, x: Reals, m: Reals, h: float, relative: float, implicit: bool) -> None:
    c = w.callbacks
    c.t, c.x, c.m, c.h, c.relative = t, x, m, h, relative
    c.test_noise()


def callback_decay(w: Control, t: float, x: Reals, m: Reals, h: float, relative: float, implicit: bool) -> None:
    c = w.callbacks
    c.t, c.x, c.m, c.h, c.relative = t, x, m, h, relative
    c.decay()


def callback_follow_decay(w: Control, t: float, x: Reals, m: Reals, recent: Reals) -> None:
    """Keep the sizes: the differentiated run sets the sizes of states and sensitivities."""
