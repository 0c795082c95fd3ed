"""Formulas that every back end must reproduce: name -> (formula of a, b, c; range of the arguments)."""

import numpy as np

import screws.scalars as s

ANY = (-2.0, 2.0)
POSITIVE = (0.1, 3.0)
INSIDE = (-0.95, 0.95)

EXPRESSIONS = {
    "add": (lambda a, b, c: a + b + 1.5, ANY),
    "subtract": (lambda a, b, c: (a - b) * (b - a) - (2.0 - c), ANY),
    "multiply": (lambda a, b, c: -a * -b * (-3.0 * c), ANY),
    "divide": (lambda a, b, c: a / b + c / b - a / (2.0 * c) + 1.0 / -a, POSITIVE),
    "quotients": (lambda a, b, c: (a / b) / c / 3.0, POSITIVE),
    "signs": (lambda a, b, c: -(a - b) + -(2.5 * c) - -a + -(1.0 / b), POSITIVE),
    "squares": (lambda a, b, c: a**2 + b**5 - c**-3 + a**0 + b**1, POSITIVE),
    "half powers": (lambda a, b, c: a**0.5 + b**1.5 - c**-2.5, POSITIVE),
    "powers": (lambda a, b, c: a**b + c**0.3 + 2.0**c, POSITIVE),
    "sin": (lambda a, b, c: s.sin(a) + s.sin(-b), ANY),
    "cos": (lambda a, b, c: s.cos(a) * s.cos(-b) - s.sin(a), ANY),
    "tan": (lambda a, b, c: s.tan(a / 2.0), ANY),
    "asin": (lambda a, b, c: s.asin(a), INSIDE),
    "acos": (lambda a, b, c: s.acos(b), INSIDE),
    "atan": (lambda a, b, c: s.atan(3.0 * a), ANY),
    "atan2": (lambda a, b, c: s.atan2(a, b) + s.atan2(-a, c), ANY),
    "sqrt": (lambda a, b, c: s.sqrt(a) * s.sqrt(a) + s.sqrt(b * c) + s.sqrt(b * b), POSITIVE),
    "exp": (lambda a, b, c: s.exp(a * b), ANY),
    "expm1": (lambda a, b, c: s.expm1(a * b), ANY),
    "log": (lambda a, b, c: s.log(a / b), POSITIVE),
    "tanh": (lambda a, b, c: s.tanh(a - c), ANY),
    "absolute": (lambda a, b, c: s.absolute(a) + abs(-b) - s.absolute(s.absolute(c)), ANY),
    "sign": (lambda a, b, c: s.sign(a) * b + s.sign(-c), ANY),
    "floor": (lambda a, b, c: s.floor(3.0 * a) * b + s.floor(-c), ANY),
    "minimum": (lambda a, b, c: s.minimum(a, b) * s.minimum(c, 0.5), ANY),
    "maximum": (lambda a, b, c: s.maximum(a, b) - s.maximum(-1.0, c), ANY),
    "less": (lambda a, b, c: s.where(s.less(a, b), a * c, b), ANY),
    "less_equal": (lambda a, b, c: s.where(s.less_equal(a, 0.0), s.cos(a), c), ANY),
    "equal": (lambda a, b, c: s.where(s.equal(s.sign(a), s.sign(b)), c, -c), ANY),
    "logic": (lambda a, b, c: s.where((s.less(a, b) & s.less(b, c)) | s.less(c, -1.0), a, b * c), ANY),
    "opposite": (lambda a, b, c: s.where(~s.less(a, b) & ~s.less(c, 0.0), a * b, c), ANY),
    "guard": (lambda a, b, c: s.where(s.less(a, 0.0), 1.0, s.sqrt(a) + s.log(s.absolute(b) + a)), ANY),
    "shared": (lambda a, b, c: s.sin(a * b) + s.sin(a * b) * s.cos(b * a), ANY),
}

POINTS = np.cumsum(np.linspace(0.1, 0.5, 16)) - 2.2
FORMULAS = EXPRESSIONS | {
    "short table": (lambda a, b, c: s.interpolate(a, [-1.0, 0.5, 1.0], [b, c, b * c]), ANY),
    "table": (lambda a, b, c: b * s.interpolate(a, POINTS, np.sin(3.0 * POINTS)) + s.searchsorted(POINTS, c), ANY),
    "entries": (lambda a, b, c: s.take(np.cos(POINTS), s.floor(3.0 * a)) * c, ANY),
}
