"""Canonical form: one SymPy expression -> the same value, written the way one writes it by hand."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from fractions import Fraction
from typing import Any

TERSE = 400
"""Operations of the largest expression that is brought into one form; a longer one stays a sum of fractions."""

PLAIN = 10**6
"""Rational numbers with a larger numerator or denominator are written as decimals."""


def exact(expression: Any) -> Any:
    """The expression with every float as the rational number that it stands for: 0.1 as 1/10, 1/3 as 1/3."""
    import sympy

    expression = sympy.S(expression)
    floats = expression.atoms(sympy.Float)
    return expression.xreplace({number: rational(float(number)) for number in floats}) if floats else expression


def rational(number: float) -> Any:
    """A fraction of small numbers that rounds to this float, else its shortest decimal form."""
    import sympy

    small = Fraction(number).limit_denominator(1000)
    if float(small) != number:
        small = Fraction(repr(number))
    return sympy.Rational(small.numerator, small.denominator)


def decimal(expression: Any) -> Any:
    """The expression with long rational numbers as floats again."""
    import sympy

    long = [q for q in expression.atoms(sympy.Rational) if max(abs(q.p), q.q) > PLAIN]
    return expression.xreplace({q: sympy.Float(float(q)) for q in long})


def reduced(expression: Any) -> Any:
    """One fraction without common factors; what is no rational function counts as a symbol."""
    import sympy

    if sympy.count_ops(expression) > TERSE:
        return expression
    inner, back = _rational_in(expression, ())
    return sympy.cancel(sympy.together(inner)).xreplace(back)


def canonical(expression: Any, moving: Collection[Any]) -> Any:
    """A sum of coefficients times monomials in the `moving` symbols where there is one, else the shorter of one fraction
    and a sum of fractions; coefficients and fractions are factored."""
    import sympy

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
    import sympy

    if not variables:
        return _factored(above / below)
    terms = sympy.Poly(above, *variables).terms()
    return sympy.Add(
        *(
            _factored(sympy.cancel(coefficient / below))
            * sympy.Mul(*(v**k for v, k in zip(variables, powers, strict=True)))
            for powers, coefficient in terms
        )
    )


def _factored(expression: Any) -> Any:
    """Numerator and denominator as products, unless that takes long."""
    import sympy

    return expression if sympy.count_ops(expression) > TERSE // 4 else sympy.factor(expression)


def _rational_in(expression: Any, moving: Collection[Any]) -> tuple[Any, dict[Any, Any]]:
    """A rational function of symbols, some of them standing for other functions; and what these stand for."""
    import sympy

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
    import sympy

    if isinstance(part, sympy.Piecewise):
        return sympy.Piecewise(*((canonical(value, moving), condition) for value, condition in part.args))
    if not part.args:
        return part
    return part.func(*(canonical(a, moving) if isinstance(a, sympy.Expr) else a for a in part.args))
