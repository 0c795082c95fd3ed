"""Force laws for the impact of a mass, in closed form: viscoelastic, and the two laws that WA22 (Wang, Dehio and Kheddar 2022)
rejects, virtual spring and Maxwell.

Viscoelastic law (15), with the compression s = -x > 0 and its rate s' = u:

    m u' = -k s - c s u            w = c u / k            w' = -(c s / m) (1 + w)

In w and s, the motion is a level line of F(w) + c^2 s^2 / (2 m k) with F(w) = w - ln(1 + w). It begins at w0 = c v0 / k and ends
where F has the same value again, which Lambert's W gives. The line u = -k/c, w = -1, is invariant, and no impact reaches it, so s
returns to zero. With an angle along the level line, sqrt(2 F) = sqrt(2 F0) sin(angle), time is the integral of a smooth function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bondgraph.errors import Problem, caller_place, raise_if_any, refusal
from screws.arrays import Count
from screws.names import answer_old_names
from screws.numeric_arguments import floats, real

Floats = NDArray[np.float64]

W0_RANGE = 1e-150, 1e150
"""Accepted range of w0 = c v0 / k, whose squares neither underflow nor overflow."""

SMALL = 0.1
"""Value of F below which Newton's method replaces Lambert's function, which loses half its digits near its branch point."""


@dataclass(frozen=True, eq=False)
class ForceHistory:
    """Impact over time, from first contact to release, as arrays (n,).

    Parameters
    ----------
    t : time, s.
    compression, rate : s >= 0 in m, and s' in m/s.
    force : force on the mass, away from the wall, N.
    kinetic, stored, dissipated : energies, J; their sum is the kinetic energy before the impact.
    """

    t: Floats
    compression: Floats
    rate: Floats
    force: Floats
    kinetic: Floats
    stored: Floats
    dissipated: Floats


def restitution(k: float, c: float, v0: Any) -> Any:
    """Return the coefficient of restitution e of the law f = k s + c s s' at the impact speed v0, for any mass.

    e = (1 + W0(-exp(ln(1 + w0) - w0 - 1))) / w0 with w0 = c v0 / k: about 1 - 2/3 w0 for small w0, and 1 / w0 for large w0.

    Parameters
    ----------
    k, c : stiffness, N/m, and damping, N s/m^2.
    v0 : impact speed, m/s, a number or an array.

    Raises `ModelError` E540 for a number that is not positive and finite.

    Source: WA22 (15); (17) is the limit for large w0, with an error of 1.5 % at w0 = 5.

    >>> f"{restitution(1.0, 1.0, 1.0):.4f} {restitution(1.0, 1.0, 5.0):.4f}"
    '0.5936 0.1970'
    """
    check_positive("an impact", k=k, c=c)
    speeds = floats(v0, np.shape(v0))
    if speeds is None or not np.all(speeds > 0.0):
        raise refusal("E540", f"v0 of an impact is {v0!r}", "a positive number in m/s, or several numbers", about="an impact")
    with np.errstate(over="ignore", under="ignore"):  # refused below
        w0 = real(c) * (speeds / real(k))
    for end in (np.min(w0), np.max(w0)) if np.size(w0) else ():
        check_w0(float(end))
    e = _restitution(w0)
    return e if np.ndim(v0) else float(e)


def identify(v0: float, impulse: float, duration: float, e: float) -> tuple[float, float, float]:
    """Return (k, c, m) of the viscoelastic impact with this initial speed, impulse, duration and coefficient of restitution.

    Speed, impulse and duration alone leave one free parameter, e, with m = impulse / (v0 (1 + e)).

    Parameters
    ----------
    v0, impulse, duration : impact speed, m/s, impulse, N s, and duration, s.
    e : coefficient of restitution, between 0 and 1, exclusive.

    Returns k (N/m), c (N s/m^2) and m (kg). Raises `ModelError` E540 for invalid values.

    >>> k, c, m = identify(0.1754, 0.6662, 10.4e-3, 0.1)
    >>> f"{k:.3g} {c:.3g} {m:.4g}"
    '8.07e+05 4.6e+07 3.453'
    """
    from scipy.optimize import brentq

    check_positive("an impact", v0=v0, impulse=impulse, duration=duration, e=e)
    if e >= 1.0:
        title, cure = f"no viscoelastic impact has the coefficient of restitution {e:g}", "a number above 0 and below 1"
        raise_if_any(
            "an impact", [Problem("E540", title, ("every viscoelastic impact loses energy",), (caller_place(),), (cure,))]
        )
    # 1 - 2/3 w0 < e < 1 / w0.
    ends = (1.5 * (1.0 - e) * (1.0 - 1e-9), 1.0 / e)
    w0 = float(brentq(lambda w: float(_restitution(np.float64(w))) - e, *ends, xtol=1e-300, rtol=1e-15))
    check_w0(w0)
    m = impulse / (v0 * (1.0 + e))
    k = m * (float(_times(w0, 1)[-1]) / duration) ** 2
    return k, w0 * k / v0, m


@answer_old_names
@dataclass(frozen=True)
class ViscoelasticImpact:
    """Mass against a spring k in parallel with a damper of damping c s.

    Parameters
    ----------
    k, c : stiffness, N/m, and damping, N s/m^2.
    m, v0 : mass, kg, and impact speed, m/s.

    Raises `ModelError` E540 for a number that is not positive and finite.
    """

    k: float
    c: float
    m: float
    v0: float

    def __post_init__(self) -> None:
        values = {name: getattr(self, name) for name in ("k", "c", "m", "v0")}
        check_positive("an impact", **values)
        for name, value in values.items():
            object.__setattr__(self, name, float(value))
        check_w0(self.w0)

    @property
    def w0(self) -> float:
        """Ratio c v0 / k, which alone determines the restitution."""
        return self.c * self.v0 / self.k

    @property
    def invariant_speed(self) -> float:
        """Release speed k / c, m/s, at which the force would be zero at any compression; every impact releases more slowly."""
        return self.k / self.c

    @property
    def restitution(self) -> float:
        """Ratio of the speed after the impact to the speed before."""
        return float(restitution(self.k, self.c, self.v0))

    @property
    def impulse(self) -> float:
        """Impulse, N s."""
        return self.m * self.v0 * (1.0 + self.restitution)

    @property
    def duration(self) -> float:
        """Time from first contact to release, s."""
        return float(np.sqrt(self.m / self.k) * _times(self.w0, 1)[-1])

    @property
    def largest_compression(self) -> float:
        """Largest compression, m, where s' = 0."""
        return self._compression(0.0)

    @property
    def peak_force(self) -> float:
        """Largest force, N; it occurs before the largest compression."""
        w = peak_rate(self.w0)
        return self.k * self._compression(w) * (1.0 + w)

    def _compression(self, w: float) -> float:
        return float(np.sqrt(2.0 * self.m * self.k * max(float(_level(self.w0) - _level(w)), 0.0)) / self.c)

    def history(self, samples: Count = 400) -> ForceHistory:
        """Return the impact at about `samples` times, with the energy balance (20)."""
        angles = _angles(self.w0, samples)
        level = float(_level(self.w0))
        w = _rate_at(angles, level)
        s = np.sqrt(2.0 * self.m * self.k * level) / self.c * np.cos(angles)
        s[[0, -1]] = 0.0
        unit = self.m * (self.k / self.c) ** 2
        spring = unit * level * np.cos(angles) ** 2
        return ForceHistory(
            np.sqrt(self.m / self.k) * _times(self.w0, samples),
            s,
            self.k / self.c * w,
            self.k * s * (1.0 + w),
            0.5 * unit * w**2,
            spring,
            # (19): the integral of c s s'^2 along the level line
            unit * 0.5 * (self.w0**2 - w**2) - spring,
        )


def peak_rate(w0: float) -> float:
    """Return w = c s' / k at the largest force k s (1 + w), where F(w) + w/2 = F(w0), by Newton's method from above."""
    level = float(_level(w0))
    w = 2.0 * level
    for _ in range(60):
        step = (0.5 * w + float(_level(w)) - level) / (1.5 - 1.0 / (1.0 + w))
        w -= step
        if abs(step) <= 1e-15 * w:
            break
    return w


def check_w0(w0: float) -> None:
    least, most = W0_RANGE
    if not least <= w0 <= most:
        title = f"c v0 / k of an impact is {w0:.3g}"
        raise refusal("E540", title, f"k, c and v0 (or e) that bring it between {least:g} and {most:g}", about="an impact")


def check_positive(about: str, **numbers: Any) -> None:
    units = {"k": "N/m", "c": "N s/m^2", "m": "kg", "v0": "m/s", "speed": "m/s", "impulse": "N s", "duration": "s"}
    wrong = {name: value for name, value in numbers.items() if not (np.isfinite(real(value)) and real(value) > 0.0)}
    cures = {name: (f"a positive number in {units[name]}" if name in units else "a positive number",) for name in wrong}
    place = (caller_place(),)
    raise_if_any(
        about, [Problem("E540", f"{name} of an impact is {value!r}", (), place, cures[name]) for name, value in wrong.items()]
    )


def _level(w: Any) -> Any:
    """Return F(w) = w - ln(1 + w) >= 0, accurate to rounding error, near zero from the series of the inverse hyperbolic
    tangent."""
    w = np.asarray(w, dtype=float)
    z = w / (2.0 + w)
    near = np.abs(w) < 0.5
    square = np.where(near, z * z, 0.0)
    series = np.zeros_like(w)
    for n in range(41, 1, -2):  # 1/3 + z^2/5 + ...; |z| < 1/3
        series = series * square + 1.0 / n
    far = np.where(near, 0.0, w)
    return np.where(near, z * (w - 2.0 * square * series), far - np.log1p(far))


def _approach_rate(level: Any) -> Any:
    """Return w >= 0 with F(w) = level, by Newton's method from above (Chatzigeorgiou 2013 bounds Lambert's W this way)."""
    level = np.asarray(level, dtype=float)
    w = level + np.sqrt(2.0 * level)
    for _ in range(8):
        safe = np.where(w > 0.0, w, 1.0)
        w = w - np.where(w > 0.0, (_level(w) - level) * (1.0 + safe) / safe, 0.0)
    return w


def _departure_rate(level: Any) -> Any:
    """Return y in [0, 1) with F(-y) = level, which is 1 + W0(-exp(-1 - level)) with Lambert's W; small values are found by
    Newton's method."""
    from scipy.special import lambertw

    level = np.asarray(level, dtype=float)
    p = np.sqrt(2.0 * np.minimum(level, SMALL))
    y = p * (1.0 - p / 3.0 + p * p / 36.0)
    for _ in range(4):
        safe = np.where(y > 0.0, y, 1.0)
        y = y - np.where(y > 0.0, (_level(-y) - np.minimum(level, SMALL)) * (1.0 - safe) / safe, 0.0)
    return np.where(level < SMALL, y, 1.0 + np.real(lambertw(-np.exp(-1.0 - np.maximum(level, SMALL)))))


def _restitution(w0: Any) -> Any:
    """Return e at w0; where the third term of its series in w0 is below rounding error, return the sum of the first two."""
    tiny = w0 < 1e-9
    safe = np.where(tiny, 1.0, w0)
    return np.where(tiny, 1.0 - 2.0 / 3.0 * w0, _departure_rate(_level(safe)) / safe)


def _rate_at(angles: Floats, level: float) -> Floats:
    """Return w on the level line at angles from pi/2 (first contact) to -pi/2 (release)."""
    levels = level * np.sin(angles) ** 2
    return np.where(angles >= 0.0, _approach_rate(levels), -_departure_rate(levels))


def _angles(w0: float, samples: int) -> Floats:
    """Return angles from first contact to release, dense around s' = 0, where the force changes quickly."""
    grading = float(np.arcsinh(np.sqrt(2.0 * _level(w0))))
    count = max(samples, 48)
    u = np.linspace(1.0, -1.0, count + 1)
    return 0.5 * np.pi * (np.sinh(grading * u) / np.sinh(grading) if grading > 1e-6 else u)


def _times(w0: float, samples: int) -> Floats:
    """Return times at `_angles`, in units of sqrt(m / k): integral of sqrt(2 F) / |w| over the angle, by Gauss-Legendre
    quadrature."""
    level = float(_level(w0))
    ends = _angles(w0, samples)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    middle, half = 0.5 * (ends[:-1] + ends[1:]), 0.5 * (ends[:-1] - ends[1:])
    inside = middle[:, None] + half[:, None] * nodes
    w = np.abs(_rate_at(inside, level))
    slowness = np.sqrt(2.0 * level) * np.abs(np.sin(inside)) / np.where(w > 0.0, w, 1.0)
    return np.concatenate([[0.0], np.cumsum(half * (np.where(w > 0.0, slowness, 1.0) @ weights))])


@answer_old_names
@dataclass(frozen=True)
class SpringImpact:
    """Mass against a virtual spring with a coefficient of restitution (WA22, section V.B; Jia, Mason and Erdmann 2013).

    At the end of compression, the stored energy is multiplied by e^2: the spring becomes stiffer, k / e^2, and less
    compressed, so that the force does not change. Force and compression peak at that time.

    Parameters
    ----------
    k, m, v0 : stiffness (N/m), mass (kg) and impact speed (m/s).
    e : coefficient of restitution, 0 to 1.

    Raises `ModelError` E540 for invalid values.
    """

    k: float
    e: float
    m: float
    v0: float

    def __post_init__(self) -> None:
        check_positive("an impact", k=self.k, m=self.m, v0=self.v0)
        if not 0.0 <= real(self.e) <= 1.0:
            raise refusal("E540", f"e of an impact is {self.e!r}", "a number from 0 to 1", about="an impact")

    @property
    def restitution(self) -> float:
        """Coefficient of restitution e."""
        return self.e

    @property
    def duration(self) -> float:
        """Duration, s."""
        return float(0.5 * np.pi * (1.0 + self.e) * np.sqrt(self.m / self.k))

    @property
    def peak_force(self) -> float:
        """Largest force, N."""
        return float(self.v0 * np.sqrt(self.k * self.m))

    @property
    def largest_compression(self) -> float:
        """Largest compression, m."""
        return float(self.v0 * np.sqrt(self.m / self.k))

    @property
    def impulse(self) -> float:
        """Impulse, N s."""
        return self.m * self.v0 * (1.0 + self.e)

    def history(self, samples: Count = 400) -> ForceHistory:
        """Return the impact, with the end of compression twice: before and after the energy drop."""
        half, unit = np.linspace(0.0, 0.5 * np.pi, max(samples // 2, 2)), np.sqrt(self.m / self.k)
        sine, cosine = np.sin(half), np.cos(half)
        cosine[-1] = 0.0
        initial = 0.5 * self.m * self.v0**2
        longest = self.largest_compression
        remaining = self.e**2
        kinetic = initial * np.concatenate([cosine**2, remaining * sine**2])
        stored = initial * np.concatenate([sine**2, remaining * cosine**2])
        return ForceHistory(
            unit * np.concatenate([half, 0.5 * np.pi + self.e * half]),
            longest * np.concatenate([sine, 1.0 - remaining * (1.0 - cosine)]),
            self.v0 * np.concatenate([cosine, -self.e * sine]),
            self.peak_force * np.concatenate([sine, cosine]),
            kinetic,
            stored,
            np.concatenate([np.zeros(len(half)), np.full(len(half), (1.0 - remaining) * initial)]),
        )


@answer_old_names
@dataclass(frozen=True)
class MaxwellImpact:
    """Mass against a spring and a damper in series: f' / k + f / c = s' (WA22, section V.C; Stronge 2000, section 5.1.1).

    Its restitution exp(-pi z / sqrt(1 - z^2)), z = sqrt(k m) / (2 c), does not depend on the speed. The damper is still
    compressed when the mass leaves.

    Parameters
    ----------
    k, c, m, v0 : stiffness, N/m, damping, N s/m, mass, kg, and impact speed, m/s.

    Raises `ModelError` E540 for a number that is not positive and finite, or z >= 1: then the mass never leaves.
    """

    k: float
    c: float
    m: float
    v0: float

    def __post_init__(self) -> None:
        check_positive("an impact", k=self.k, c=self.c, m=self.m, v0=self.v0)
        if self.damping_ratio >= 1.0:
            title = f"sqrt(k m) / (2 c) is {self.damping_ratio:g}: the mass never leaves this Maxwell element"
            raise refusal("E540", title, "a larger c, or a smaller k or m, for a ratio below 1", about="an impact")

    @property
    def damping_ratio(self) -> float:
        """Damping ratio z."""
        return float(np.sqrt(self.k * self.m) / (2.0 * self.c))

    @property
    def _frequency(self) -> float:
        return float(np.sqrt(self.k / self.m * (1.0 - self.damping_ratio**2)))

    @property
    def restitution(self) -> float:
        """Ratio of the speed after the impact to the speed before."""
        z = self.damping_ratio
        return float(np.exp(-np.pi * z / np.sqrt(1.0 - z * z)))

    @property
    def duration(self) -> float:
        """Duration, s."""
        return float(np.pi / self._frequency)

    @property
    def impulse(self) -> float:
        """Impulse, N s."""
        return self.m * self.v0 * (1.0 + self.restitution)

    @property
    def peak_force(self) -> float:
        """Largest force, N."""
        return float(self._force(np.array([np.arccos(self.damping_ratio) / self._frequency]))[0][0])

    @property
    def largest_compression(self) -> float:
        """Largest compression, m, where the mass is at rest: tan(wd t) = -sqrt(1 - z^2) / z with wd^2 = k/m (1 - z^2)."""
        z = self.damping_ratio
        at = np.arctan2(np.sqrt(1.0 - z * z), -z) / self._frequency
        return float(self._state(np.array([at]))[0][0])

    def _force(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        w, decay = self._frequency, 0.5 * self.k / self.c
        peak = self.k * self.v0 * np.exp(-decay * t)
        return peak * np.sin(w * t) / w, peak * (np.cos(w * t) - decay / w * np.sin(w * t))

    def _state(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        f, rate = self._force(t)
        u = rate / self.k + f / self.c
        return f / self.k + self.m * (self.v0 - u) / self.c, u, f

    def history(self, samples: Count = 400) -> ForceHistory:
        """Return the impact, with the energy dissipated in the damper."""
        t = np.linspace(0.0, self.duration, max(samples, 2))
        s, u, f = self._state(t)
        f[-1] = 0.0
        kinetic, stored = 0.5 * self.m * u**2, f**2 / (2.0 * self.k)
        return ForceHistory(t, s, u, f, kinetic, stored, 0.5 * self.m * self.v0**2 - kinetic - stored)


ForceLaw = ViscoelasticImpact | SpringImpact | MaxwellImpact
"""Force law of the impact of a mass."""


def equivalent_laws(v0: float, impulse: float, duration: float, e: float) -> dict[str, ForceLaw]:
    """Return the three laws of WA22 with the same speed, impulse, duration and coefficient of restitution, by name.

    Parameters
    ----------
    v0, impulse, duration : impact speed, m/s, impulse, N s, and duration, s.
    e : coefficient of restitution, between 0 and 1, exclusive.

    Raises `ModelError` E540 for invalid values.
    """
    k, c, m = identify(v0, impulse, duration, e)
    decrement = -float(np.log(e))
    z = decrement / float(np.hypot(np.pi, decrement))
    stiff = m * (np.pi / duration) ** 2 / (1.0 - z * z)
    return {
        "viscoelastic": ViscoelasticImpact(k, c, m, v0),
        "virtual spring": SpringImpact(m * (0.5 * np.pi * (1.0 + e) / duration) ** 2, e, m, v0),
        "Maxwell": MaxwellImpact(stiff, float(np.sqrt(stiff * m)) / (2.0 * z), m, v0),
    }
