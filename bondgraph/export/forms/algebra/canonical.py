"""Canonical form of a SymPy expression: an equal expression, as it would be written by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator
from fractions import Fraction
from typing import Any

from bondgraph.output.lazy import sympy

MAX_OPERATIONS = 400

MAX_NUMERATOR = 10**6

MAX_DENOMINATOR = 1000


def exact(expression: Any) -> Any:
    expression = sympy.S(expression)
    floats = expression.atoms(sympy.Float)
    return expression.xreplace({number: rational(float(number)) for number in floats}) if floats else expression


def rational(number: float) -> Any:
    """Return a finite float as a fraction with a denominator up to 1000, if one rounds to it, else as its shortest decimal
    form."""
    if not math.isfinite(number):
        return sympy.nan if math.isnan(number) else sympy.oo if number > 0 else -sympy.oo
    small = Fraction(number).limit_denominator(1000)
    if float(small) != number:
        small = Fraction(repr(number))
    return sympy.Rational(small.numerator, small.denominator)


def decimal(expression: Any, keep_fractions: bool) -> Any:
    """Write the numbers of an exact expression readably, with a power of ten factored out of sums with long coefficients.

    Fractions of small integers are kept if `keep_fractions` (the user's numbers are all integers) or if no short decimal equals
    them; other fractions are decimals, such as 9.81.
    """
    return _with_numbers(_scaled(sympy.S(expression)), keep_fractions)


def _with_numbers(expression: Any, keep_fractions: bool) -> Any:
    if expression.is_Rational:
        return _number(expression, keep_fractions)
    if not expression.args:
        return expression
    if expression.is_Pow and expression.exp.is_Rational:
        return _with_numbers(expression.base, keep_fractions) ** expression.exp
    parts = [_with_numbers(part, keep_fractions) for part in expression.args]
    if isinstance(expression, (sympy.Piecewise, sympy.core.relational.Relational)):
        return expression.func(*parts, evaluate=False)
    if isinstance(expression, sympy.functions.elementary.piecewise.ExprCondPair):
        return sympy.functions.elementary.piecewise.ExprCondPair(*parts)
    return expression.func(*parts) if any(a is not b for a, b in zip(parts, expression.args, strict=True)) else expression


def _number(q: Any, keep_fractions: bool) -> Any:
    if q.is_Integer:
        return q if abs(q.p) <= MAX_NUMERATOR else sympy.Float(float(q), 15)
    if not keep_fractions and Fraction(repr(float(q))) == Fraction(int(q.p), int(q.q)):  # the shortest decimal of a float
        return sympy.Float(float(q), 15)
    return q if abs(q.p) <= MAX_NUMERATOR and q.q <= MAX_DENOMINATOR else sympy.Float(float(q), 15)


def _scaled(expression: Any) -> Any:
    """Factor powers of ten out of sums whose coefficients are long because of a common denominator."""
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
    numbers = [term.as_coeff_Mul()[0] for term in total.args]
    rationals = [q for q in numbers if q.is_Rational]
    if not any(abs(q.p) > MAX_NUMERATOR or q.q > MAX_DENOMINATOR for q in rationals):
        return sympy.S.One
    return sympy.Integer(10) ** math.floor(math.log10(max(abs(float(q)) for q in rationals)))


def reduced(expression: Any) -> Any:
    """Return one fraction without common factors, unless the expression exceeds `MAX_OPERATIONS`; functions that are not
    rational count as symbols."""
    if sympy.count_ops(expression) > MAX_OPERATIONS:
        return expression
    inner, back = _rational_in(expression, ())
    return sympy.cancel(sympy.together(inner)).xreplace(back)


def canonical(expression: Any, moving: Collection[Any]) -> Any:
    """Return a sum of coefficients times monomials in the `moving` symbols if the denominator is free of them, else one
    fraction or a sum of fractions, whichever is shorter. Expressions beyond `MAX_OPERATIONS` stay unchanged."""
    if not expression.args or sympy.count_ops(expression) > MAX_OPERATIONS:
        return expression
    inner, back = _rational_in(expression, moving)
    fraction = sympy.cancel(sympy.together(inner))
    numerator, denominator = sympy.fraction(fraction)
    moves = set(moving) | {dummy for dummy, meant in back.items() if meant.free_symbols & set(moving)}
    variables = sorted(numerator.free_symbols & moves, key=lambda s: s.sort_key())
    if not denominator.free_symbols & moves:
        out = _by_monomials(numerator, denominator, variables)
    else:
        partial_fractions = sympy.Add(*(_factored(sympy.cancel(term)) for term in sympy.Add.make_args(inner)))
        out = min((_factored(fraction), partial_fractions), key=lambda form: (sympy.count_ops(form), sympy.srepr(form)))
    return out.xreplace(back)


def _by_monomials(numerator: Any, denominator: Any, variables: list[Any]) -> Any:
    if not variables:
        return _factored(numerator / denominator)
    terms = sympy.Poly(numerator, *variables).terms()
    return sympy.Add(
        *(
            _factored(sympy.cancel(coefficient / denominator))
            * sympy.Mul(*(v**k for v, k in zip(variables, powers, strict=True)))
            for powers, coefficient in terms
        )
    )


def _factored(expression: Any) -> Any:
    return expression if sympy.count_ops(expression) > MAX_OPERATIONS // 4 else sympy.factor(expression)


def _rational_in(expression: Any, moving: Collection[Any]) -> tuple[Any, dict[Any, Any]]:
    """Return an expression as a rational function of symbols, and the functions that new symbols stand for."""
    dummies: dict[Any, Any] = {}
    numbers: Iterator[int] = itertools.count()

    def replaced(part: Any) -> Any:
        if part.is_Rational or part.is_Symbol:
            return part
        if part.is_Add or part.is_Mul:
            return part.func(*map(replaced, part.args))
        if part.is_Pow and part.exp.is_Integer:
            return replaced(part.base) ** part.exp
        function = _inside(part, moving)
        if function not in dummies:
            dummies[function] = sympy.Dummy(f"g{next(numbers)}", real=True)
        return dummies[function]

    inner = replaced(expression)
    return inner, {dummy: meant for meant, dummy in dummies.items()}


def _inside(part: Any, moving: Collection[Any]) -> Any:
    if isinstance(part, sympy.Piecewise):
        return sympy.Piecewise(*((canonical(value, moving), condition) for value, condition in part.args))
    if not part.args:
        return part
    return part.func(*(canonical(a, moving) if isinstance(a, sympy.Expr) else a for a in part.args))
