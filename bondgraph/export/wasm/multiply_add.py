"""Fused multiply-add for targets without one, such as WebAssembly, as a function of the kernel language."""

from __future__ import annotations

from bondgraph.emit.elementary.functions import of_bits
from bondgraph.emit.kernel_language.language import bits_down, bits_sum, bits_up, finite, inline

_HALF_OF_LOW, _LOW = of_bits(1 << 26), 27
"""Half a unit in the last place of the high half of a number, as bits, and the number of bits of its low half."""
_NEXT, _PREVIOUS = of_bits(1), of_bits(-1)
"""Steps from a number to its neighbours with larger and smaller absolute value, as bits."""


@inline
def high_half(x: float) -> float:
    """Return a number rounded to 26 bits."""
    return bits_up(bits_down(bits_sum(x, _HALF_OF_LOW), _LOW), _LOW)


@inline
def sum_error(x: float, y: float, total: float) -> float:
    """Return the exact sum of two numbers minus its rounded value `total` (Knuth 1969)."""
    other = total - x
    return (x - (total - other)) + (y - other)


@inline
def sum_to_odd(x: float, y: float) -> float:
    """Return the sum of two numbers, rounded to odd unless it is exact, so that a further sum rounds correctly."""
    total = x + y
    error = sum_error(x, y, total)
    is_even = bits_up(bits_down(total, 1), 1) == total
    odd = bits_sum(total, _NEXT if (error > 0.0) == (total > 0.0) else _PREVIOUS)
    return odd if is_even and error != 0.0 else total


def multiply_add(x: float, y: float, z: float) -> float:
    """Return x y + z, rounded once: product and sum with their rounding errors (Dekker 1971), whose sum is rounded to odd
    (Boldo and Melquiond 2008).

    The last bit may be wrong for a product below 1e-290, and the result is infinite if the product exceeds 1e308 but the sum
    does not.
    """
    product = x * y
    x_high, y_high = high_half(x), high_half(y)
    x_low, y_low = x - x_high, y - y_high
    product_error = x_low * y_low - (((product - x_high * y_high) - x_low * y_high) - x_high * y_low)
    total = product + z
    result = total + sum_to_odd(sum_error(product, z, total), product_error)
    return result if finite(result) and result != 0.0 else total
