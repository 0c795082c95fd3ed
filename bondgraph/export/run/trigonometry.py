"""Sines and cosines in C, with the operations of `emit.trigonometry` for one angle, and so with its bits."""

from __future__ import annotations

from collections.abc import Sequence

from bondgraph.emit.trigonometry import _COS, _MAGIC, _PI_2, _SIN, MAX_EXACT_ANGLE

_TEXT = """\
static double {p}quadrant(double x, int64_t next)
{{
    const double n = (x * {two_over_pi} + {magic}) - {magic};
    const double p1 = n * {pi0}, r1 = x - p1;
    const double p2 = n * {pi1}, r2 = r1 - p2;
    const double e1 = r1 - r2, e2 = e1 - p2;
    const double p3 = n * {pi2}, w = p3 - e2;
    const double y = r2 - w, e3 = r2 - y, low = e3 - w, z = y * y;
    const int64_t quadrant = (int64_t)n + next;
    double value;
    if (quadrant & 1) {{
        const double c = {cosine};
        const double h = z * 0.5, u = 1.0 - h, c1 = 1.0 - u, c2 = c1 - h;
        const double zz = z * z, c3 = zz * c, c4 = y * low, c5 = c3 - c4, c6 = c2 + c5;
        value = u + c6;
    }} else {{
        const double s = {sine};
        const double cube = z * y, s1 = cube * s, s2 = s1 + low;
        value = y + s2;
    }}
    return quadrant & 2 ? -value : value;
}}
"""
_FUNCTION = """\
static double {p}{name}(double x)
{{
    return fabs(x) <= {largest} ? {p}quadrant(x, {next}) : {name}(x);
}}
"""


def sines_and_cosines(prefix: str, names: Sequence[str]) -> str:
    """Return the definitions of `{prefix}sin` and `{prefix}cos`, of those of the names "sin" and "cos" that are listed."""
    if not names:
        return ""
    numbers = {f"pi{k}": repr(part) for k, part in enumerate(_PI_2)}
    numbers |= {"two_over_pi": "0.63661977236758134308", "magic": repr(_MAGIC)}
    polynomials = {"sine": _horner(_SIN), "cosine": _horner(_COS)}
    parts = [_TEXT.format(p=prefix, **numbers, **polynomials)]
    largest = repr(MAX_EXACT_ANGLE)
    parts += [_FUNCTION.format(p=prefix, name=name, largest=largest, next=int(name == "cos")) for name in names]
    return "\n".join(parts)


def _horner(coefficients: Sequence[float]) -> str:
    """Return the polynomial in z with these coefficients, the constant first."""
    text = repr(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        text = f"(z * {text} + {coefficient!r})"
    return text
