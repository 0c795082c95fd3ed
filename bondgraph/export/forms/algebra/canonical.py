"""Canonical form: one SymPy expression -> the same value, written the way one writes it by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator
from fractions import Fraction
from typing import Any

import sympy

TERSE = 400
"""Operations of the largest expression that is brought into one form; a longer one stays a sum of fractions."""

PLAIN = 10**6
"""Rational numbers with a larger numerator are written as decimals."""

PARTS = 1000
"""And those with a larger denominator."""


def exact(expression: Any) -> Any:
    """The expression with every float as the rational number that it stands for: 0.1 as 1/10, 1/3 as 1/3."""
    expression = sympy.S(expression)
    floats = expression.atoms(sympy.Float)
    return expression.xreplace({number: rational(float(number)) for number in floats}) if floats else expression


def rational(number: float) -> Any:
    """A fraction of small numbers that rounds to this float, else its shortest decimal form."""
    if not math.isfinite(number):
        return sympy.oo if number > 0 else -sympy.oo
    small = Fraction(number).limit_denominator(1000)
    if float(small) != number:
        small = Fraction(repr(number))
    return sympy.Rational(small.numerator, small.denominator)


def decimal(expression: Any, whole: bool) -> Any:
    """The expression with its numbers as they are read best, sums and fractions scaled so that their largest number is near 1.

    Fractions of small numbers stay where all numbers that a user gave are `whole`, or there is no short decimal; else what is
    9.81 is 9.81. All is computed exactly until here.
    """
    return _with_numbers(_scaled(sympy.S(expression)), whole)


def _with_numbers(expression: Any, whole: bool) -> Any:
    """Every number but an exponent as it is read best."""
    if expression.is_Rational:
        return _number(expression, whole)
    if not expression.args:
        return expression
    if expression.is_Pow and expression.exp.is_Rational:
        return _with_numbers(expression.base, whole) ** expression.exp
    parts = [_with_numbers(part, whole) for part in expression.args]
    if isinstance(expression, (sympy.Piecewise, sympy.core.relational.Relational)):
        return expression.func(*parts, evaluate=False)
    if isinstance(expression, sympy.functions.elementary.piecewise.ExprCondPair):
        return sympy.functions.elementary.piecewise.ExprCondPair(*parts)
    return expression.func(*parts) if any(a is not b for a, b in zip(parts, expression.args, strict=True)) else expression


def _number(q: Any, whole: bool) -> Any:
    if q.is_Integer:
        return q if abs(q.p) <= PLAIN else sympy.Float(float(q), 15)
    if not whole and _is_short_decimal(q):
        return sympy.Float(float(q), 15)
    return q if abs(q.p) <= PLAIN and q.q <= PARTS else sympy.Float(float(q), 15)


def _is_short_decimal(q: Any) -> bool:
    """Whether a fraction is exactly a decimal of so many digits as a float shows."""
    return Fraction(repr(float(q))) == Fraction(int(q.p), int(q.q))


def _scaled(expression: Any) -> Any:
    """The same value, powers of ten taken out of sums with long numbers: what a common denominator has made large."""
    if not expression.args or not isinstance(expression, sympy.Expr):
        return expression
    if isinstance(expression, sympy.Piecewise):
        return sympy.Piecewise(*((_scaled(value), condition) for value, condition in expression.args), evaluate=False)
    parts = [_scaled(part) for part in expression.args]
    if not expression.is_Mul and not expression.is_Pow:
        return expression.func(*parts)
    number, rest = sympy.S.One, []
    for factor in parts if expression.is_Mul else [expression.func(*parts)]:
        base, power = factor.as_base_exp()
        if base.is_Add and power.is_Integer and (ten := _power_of_ten(base)) != 1:
            number *= ten**power
            factor = sympy.Add(*(term / ten for term in base.args)) ** power
        rest.append(factor)
    return number * sympy.Mul(*rest)


def _power_of_ten(total: Any) -> Any:
    """10^k near the largest coefficient of a sum that has long ones; else 1."""
    numbers = [term.as_coeff_Mul()[0] for term in total.args]
    known = [q for q in numbers if q.is_Rational]
    if not any(abs(q.p) > PLAIN or q.q > PARTS for q in known):
        return sympy.S.One
    return sympy.Integer(10) ** math.floor(math.log10(max(abs(float(q)) for q in known)))


def reduced(expression: Any) -> Any:
    """One fraction without common factors; what is no rational function counts as a symbol."""
    if sympy.count_ops(expression) > TERSE:
        return expression
    inner, back = _rational_in(expression, ())
    return sympy.cancel(sympy.together(inner)).xreplace(back)


def canonical(expression: Any, moving: Collection[Any]) -> Any:
    """A sum of coefficients times monomials in the `moving` symbols where there is one, else the shorter of one fraction
    and a sum of fractions; coefficients and fractions are factored."""
    if not expression.args or sympy.count_ops(expression) > TERSE:
        return expression
    inner, back = _rational_in(expression, moving)
    whole = sympy.cancel(sympy.together(inner))
    above, below = sympy.fraction(whole)
    moves = set(moving) | {dummy for dummy, meant in back.items() if meant.free_symbols & set(moving)}
    variables = sorted(above.free_symbols & moves, key=lambda s: s.sort_key())
    if not below.free_symbols & moves:
        out = _by_monomials(above, below, variables)
    else:
        apart = sympy.Add(*(_factored(sympy.cancel(term)) for term in sympy.Add.make_args(inner)))
        out = min((_factored(whole), apart), key=lambda form: (sympy.count_ops(form), sympy.srepr(form)))
    return out.xreplace(back)


def _by_monomials(above: Any, below: Any, variables: list[Any]) -> Any:
    if not variables:
        return _factored(above / below)
    terms = sympy.Poly(above, *variables).terms()
    return sympy.Add(
        *(
            _factored(sympy.cancel(coefficient / below)) * sympy.Mul(*(v**k for v, k in zip(variables, powers, strict=True)))
            for powers, coefficient in terms
        )
    )


def _factored(expression: Any) -> Any:
    """Numerator and denominator as products, unless that takes long."""
    return expression if sympy.count_ops(expression) > TERSE // 4 else sympy.factor(expression)


def _rational_in(expression: Any, moving: Collection[Any]) -> tuple[Any, dict[Any, Any]]:
    """A rational function of symbols, some of them standing for other functions; and what these stand for."""
    stands: dict[Any, Any] = {}
    numbers: Iterator[int] = itertools.count()

    def walk(part: Any) -> Any:
        if part.is_Rational or part.is_Symbol:
            return part
        if part.is_Add or part.is_Mul:
            return part.func(*map(walk, part.args))
        if part.is_Pow and part.exp.is_Integer:
            return walk(part.base) ** part.exp
        known = _inside(part, moving)
        if known not in stands:
            stands[known] = sympy.Dummy(f"g{next(numbers)}", real=True)
        return stands[known]

    inner = walk(expression)
    return inner, {dummy: meant for meant, dummy in stands.items()}


def _inside(part: Any, moving: Collection[Any]) -> Any:
    """A function with its arguments in canonical form."""
    if isinstance(part, sympy.Piecewise):
        return sympy.Piecewise(*((canonical(value, moving), condition) for value, condition in part.args))
    if not part.args:
        return part
    return part.func(*(canonical(a, moving) if isinstance(a, sympy.Expr) else a for a in part.args))
