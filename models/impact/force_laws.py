"""Force laws that WA22 rejects, in closed form: a virtual spring with restitution, and a Maxwell element.

The stored energy of the virtual spring drops to a part e^2 as the compression ends; a Maxwell element is a spring and a damper
in series. `equivalent_laws` gives both, and the viscoelastic law, the same speed, impulse and duration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from screwbond.models.impact.viscoelastic import ForceHistory, ViscoelasticImpact, check_positive, identify

from bondgraph.errors import refusal
from screws.numeric_arguments import real
from screws.renamed import answer_old_names


@answer_old_names
@dataclass(frozen=True)
class SpringImpact:
    """A mass against a virtual spring with a coefficient of restitution (WA22, section V.B; Jia, Mason and Erdmann 2013).

    As the compression ends the stored energy drops by the factor e^2: the spring becomes stiffer, k / e^2, and shorter, so that
    the force stays. Force and compression have their peaks at that time.

    Parameters
    ----------
    k, m, v0 : N/m, kg, and the impact speed, m/s.
    e : coefficient of restitution, 0 to 1.

    Raises `ModelError` E540 for invalid numbers.
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
        """e."""
        return self.e

    @property
    def duration(self) -> float:
        """s."""
        return float(0.5 * np.pi * (1.0 + self.e) * np.sqrt(self.m / self.k))

    @property
    def peak_force(self) -> float:
        """N."""
        return float(self.v0 * np.sqrt(self.k * self.m))

    @property
    def largest_compression(self) -> float:
        """m."""
        return float(self.v0 * np.sqrt(self.m / self.k))

    @property
    def impulse(self) -> float:
        """N s."""
        return self.m * self.v0 * (1.0 + self.e)

    def history(self, samples: int = 400) -> ForceHistory:
        """Return the impact, with the end of the compression twice: before and after the drop of the energy."""
        half, unit = np.linspace(0.0, 0.5 * np.pi, max(samples // 2, 2)), np.sqrt(self.m / self.k)
        sine, cosine = np.sin(half), np.cos(half)
        cosine[-1] = 0.0
        initial = 0.5 * self.m * self.v0**2
        longest = self.largest_compression
        back = self.e**2
        kinetic = initial * np.concatenate([cosine**2, back * sine**2])
        stored = initial * np.concatenate([sine**2, back * cosine**2])
        return ForceHistory(
            unit * np.concatenate([half, 0.5 * np.pi + self.e * half]),
            longest * np.concatenate([sine, 1.0 - back * (1.0 - cosine)]),
            self.v0 * np.concatenate([cosine, -self.e * sine]),
            self.peak_force * np.concatenate([sine, cosine]),
            kinetic,
            stored,
            np.concatenate([np.zeros(len(half)), np.full(len(half), (1.0 - back) * initial)]),
        )


@answer_old_names
@dataclass(frozen=True)
class MaxwellImpact:
    """A mass against a spring and a damper in series: f' / k + f / c = s' (WA22, section V.C; Stronge 2000, section 5.1.1).

    Its restitution exp(-pi z / sqrt(1 - z^2)), z = sqrt(k m) / (2 c), does not depend on the speed. The damper stays
    compressed as the mass leaves.

    Parameters
    ----------
    k, c, m, v0 : N/m, N s/m, kg, and the impact speed, m/s.

    Raises `ModelError` E540 for a number that is not positive and finite, or z >= 1: then the mass never leaves.
    """

    k: float
    c: float
    m: float
    v0: float

    def __post_init__(self) -> None:
        check_positive("an impact", k=self.k, c=self.c, m=self.m, v0=self.v0)
        if self.damping_ratio >= 1.0:
            title = f"sqrt(k m) / (2 c) is {self.damping_ratio:g}: the mass never leaves such a Maxwell element"
            raise refusal("E540", title, "a larger c, or a smaller k or m: a ratio below 1", about="an impact")

    @property
    def damping_ratio(self) -> float:
        """z."""
        return float(np.sqrt(self.k * self.m) / (2.0 * self.c))

    @property
    def _frequency(self) -> float:
        return float(np.sqrt(self.k / self.m * (1.0 - self.damping_ratio**2)))

    @property
    def restitution(self) -> float:
        """Speed after the impact over that before it."""
        z = self.damping_ratio
        return float(np.exp(-np.pi * z / np.sqrt(1.0 - z * z)))

    @property
    def duration(self) -> float:
        """s."""
        return float(np.pi / self._frequency)

    @property
    def impulse(self) -> float:
        """N s."""
        return self.m * self.v0 * (1.0 + self.restitution)

    @property
    def peak_force(self) -> float:
        """N."""
        return float(self._force(np.array([np.arccos(self.damping_ratio) / self._frequency]))[0][0])

    @property
    def largest_compression(self) -> float:
        """m: where the mass is at rest, tan(wd t) = -2 z sqrt(1 - z^2) / (1 - 2 z^2)."""
        z = self.damping_ratio
        at = np.arctan2(np.sqrt(1.0 - z * z), -z) / self._frequency
        return float(self._state(np.array([at]))[0][0])

    def _force(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return f and f' at times t."""
        w, decay = self._frequency, 0.5 * self.k / self.c
        peak = self.k * self.v0 * np.exp(-decay * t)
        return peak * np.sin(w * t) / w, peak * (np.cos(w * t) - decay / w * np.sin(w * t))

    def _state(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return s, s' and f at times t."""
        f, rate = self._force(t)
        u = rate / self.k + f / self.c
        return f / self.k + self.m * (self.v0 - u) / self.c, u, f

    def history(self, samples: int = 400) -> ForceHistory:
        """Return the impact; the damper takes the dissipated energy."""
        t = np.linspace(0.0, self.duration, max(samples, 2))
        s, u, f = self._state(t)
        f[-1] = 0.0
        kinetic, stored = 0.5 * self.m * u**2, f**2 / (2.0 * self.k)
        return ForceHistory(t, s, u, f, kinetic, stored, 0.5 * self.m * self.v0**2 - kinetic - stored)


ForceLaw = ViscoelasticImpact | SpringImpact | MaxwellImpact
"""Force law of the impact of a mass."""


def equivalent_laws(v0: float, impulse: float, duration: float, e: float) -> dict[str, ForceLaw]:
    """Return the three laws of WA22 with one speed, impulse, duration and coefficient of restitution, by their names.

    Parameters
    ----------
    v0, impulse, duration : m/s, N s, s.
    e : between 0 and 1.

    Raises `ModelError` E540 for invalid numbers.
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
