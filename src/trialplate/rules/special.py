# SPDX-License-Identifier: Apache-2.0
"""The three functions that bounds stand on: the incomplete beta function, its inverse, and the normal quantile.

Only `math` is used, and of it nothing whose last bits differ between C libraries by more than log and exp do: the
logarithm of the gamma function is made here, from Stirling's series. Nothing is rounded; decisions do that.

Source: DLMF 8.17 (definition), DLMF 5.11 (Stirling's series); DiDonato and Morris 1992, "Algorithm 708" (continued
fraction); Lentz 1976 in the form of Thompson and Barnett 1986; Abramowitz and Stegun 26.2.23 and 26.5.22 (first
guesses); Loader 2000, "Fast and accurate computation of binomial probabilities" (the beta density as deviance and
correction, which keeps its digits when a and b are large).
"""

from __future__ import annotations

from math import erfc, exp, expm1, inf, log, log1p, pi, sqrt

__all__ = ["betainc", "betaincinv", "normal_quantile"]

TINY = 1e-300
"""Stands for 0 in a denominator of the continued fraction."""
NOTHING = 1e-200
"""With a or b below, 0 and 1 are the only values of the distribution that a double can tell apart."""
EPS = 2.3e-16
SERIES_FROM = 12.0
"""From here on Stirling's series gives every bit of a double with six terms."""
PANELS_FROM = 1500.0
"""With a and b both above, the density is so smooth that quadrature beats the continued fraction, whose number of
steps grows with the square root of them."""
GAUSS = (
    (0.1488743389816312, 0.2955242247147529),
    (0.4333953941292472, 0.2692667193099964),
    (0.6794095682990244, 0.2190863625159820),
    (0.8650633666889845, 0.1494513491505806),
    (0.9739065285171717, 0.0666713443086881),
)
"""Nodes and weights of the ten-point Gauss-Legendre rule on [-1, 1], of which the negative half mirrors this one."""


def betainc(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), the chance that a Beta(a, b) variable is at most x.

    The error is below 1e-12 for a and b from 0.1 to a million, and mostly below 1e-14.

    Args:
        a: above 0, and so is b.
        x: in [0, 1].

    Raises:
        ValueError: an argument is outside its range, or is not a number.

    Source: DLMF 8.17.2.
    """
    if not (0 < a < inf and 0 < b < inf and 0 <= x <= 1):
        raise ValueError(f"no incomplete beta function at a={a}, b={b}, x={x}")
    return _lower(a, b, x, 1.0 - x)


def _lower(a: float, b: float, x: float, y: float) -> float:
    """Return I_x(a, b), where y = 1 - x."""
    if x <= 0 or y <= 0:
        return 0.0 if x <= 0 else 1.0
    if min(a, b) < NOTHING:
        return b / (a + b)
    if min(a, b) > PANELS_FROM:
        below = x * b < y * a
        tail = _tail(a, b, x, y) if below else _tail(b, a, y, x)
        return tail if below else 1.0 - tail
    if x * (a + b + 2) < a + 1:
        return _kernel(a, b, x, y) / _fraction(a, b, x, y)
    return 1.0 - _kernel(b, a, y, x) / _fraction(b, a, y, x)


def _kernel(a: float, b: float, x: float, y: float) -> float:
    """Return x^a y^b / B(a, b), which is the beta density times x times y."""
    n = a + b
    off = x * b - y * a  # n times the distance of x from the mean a / n
    up, down = off / a, -off / b
    first = log1p(up) if up > -0.5 else log(x * (n / a))
    second = log1p(down) if down > -0.5 else log(y * (n / b))
    rest = _stirling(n) - _stirling(a) - _stirling(b)
    return sqrt(a / n * b / (2 * pi)) * exp(a * first + b * second + rest)


def _stirling(a: float) -> float:
    """Return what Stirling's formula lacks: log gamma(a) - ((a - 1/2) log a - a + log(2 pi) / 2)."""
    less = 0.0
    while a < SERIES_FROM:
        less += (a + 0.5) * log1p(1 / a) - 1
        a += 1
    s = 1 / (a * a)
    return less + (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188 - s * 691 / 360360))))) / a


def _fraction(a: float, b: float, x: float, y: float) -> float:
    """Return what x^a y^b / B(a, b) is to be divided by for I_x(a, b), by Lentz's method.

    Every second step is left out, and a y - b x stands for a - (a + b) x: near the mean that difference is all that is
    left of large numbers.

    Args:
        x: below (a + 1) / (a + b + 2), and y = 1 - x.
    """
    spare = a * y - b * x + 1
    value = left = _nonzero(a * spare / (a + 1))
    right, change, m = 0.0, 0.0, 0.0
    while abs(change - 1.0) > EPS:
        m += 1.0
        odd = a + 2.0 * m - 1.0
        over = m * (b - m) * x
        upper = (a + (m - 1.0)) * (a + b + (m - 1.0)) * over * x / (odd * odd)  # a may be far below 1
        lower = m + over / odd + (a + m) * (spare + m * (1.0 + y)) / (odd + 2.0)
        right = 1.0 / _nonzero(lower + upper * right)
        left = _nonzero(lower + upper / left)
        change = left * right
        value *= change
    return value


def _nonzero(value: float) -> float:
    return value if abs(value) > TINY else TINY


def _tail(a: float, b: float, x: float, y: float) -> float:
    """Return I_x(a, b) for x below the mean and large a and b: Gauss's rule over panels one deviation wide.

    Nine deviations further down nothing is left that a double would show beside what has been added.
    """
    n = a + b
    width = sqrt(a / n * (b / n) / n)
    total, right = 0.0, 0.0
    while True:
        part = 0.0
        for node, weight in GAUSS:
            for sign in (-node, node):
                off = right + width * (1 + sign) / 2
                low, high = x - off, y + off
                if low > 0:
                    part += weight * _kernel(a, b, low, high) / (low * high)
        total += part
        right += width
        if part <= total * 1e-17 or right >= x:
            return total * width / 2


def betaincinv(a: float, b: float, p: float) -> float:
    """Return the x with I_x(a, b) = p, to the last bits: Halley's steps, kept between what is known too low or high.

    Args:
        a: above 0, and so is b.
        p: in [0, 1].

    Raises:
        ValueError: an argument is outside its range, or is not a number.
    """
    if not (0 < a < inf and 0 < b < inf and 0 <= p <= 1):
        raise ValueError(f"no quantile of the beta distribution at a={a}, b={b}, p={p}")
    if p in (0, 1):
        return float(p)
    if min(a, b) < NOTHING:
        return 0.0 if p < b / (a + b) else 1.0
    if b == 1:
        return float(p ** (1 / a))
    if a == 1:
        return float(-expm1(log1p(-p) / b))
    x = _first_guess(a, b, p)
    low, high = 0.0, 1.0
    for _ in range(200):
        if x <= 0:  # smaller than any double
            return 0.0
        y = 1.0 - x
        over = _lower(a, b, x, y) - p
        low, high = (x, high) if over < 0 else (low, x)
        moved = _halley(a, b, x, y, over)
        if not low < moved < high and moved != x:
            moved = (low + high) / 2
        if abs(moved - x) <= 1e-10 * min(x, y) or moved in (low, high):
            return moved
        x = moved
    return x


def _halley(a: float, b: float, x: float, y: float, over: float) -> float:
    """Return the next guess at x, where I_x(a, b) is `over` too much; outside [0, 1] if the step is no good."""
    density = _kernel(a, b, x, y) / (x * y)
    if density == 0:
        return inf
    newton = over / density
    return x - newton / (1 - 0.5 * min(1.0, newton * ((a - 1) / x - (b - 1) / y)))


def _first_guess(a: float, b: float, p: float) -> float:
    """Return x to about two digits: Abramowitz and Stegun 26.5.22, or the power that rules near an end."""
    if a >= 1 and b >= 1:
        z = normal_quantile(p)
        alpha, beta = 1 / (2 * a - 1), 1 / (2 * b - 1)
        harmonic = 2 / (alpha + beta)
        curve = (z * z - 3) / 6
        w = -z * sqrt(max(curve + harmonic, 0.0)) / harmonic
        w -= (beta - alpha) * (curve + 5 / 6 - 2 / (3 * harmonic))
        guess = a / (a + b * exp(max(min(2 * w, 600.0), -600.0)))
    else:
        left = exp(a * log(a / (a + b))) / a
        right = exp(b * log(b / (a + b))) / b
        both = left + right
        at_0 = p * both < left
        guess = exp(log(a * both * p) / a) if at_0 else 1 - exp(log(b * both * (1 - p)) / b)
    return min(guess, 1 - 2**-53)


def normal_quantile(p: float) -> float:
    """Return the z below which a standard normal variable lies with probability p: 1.6449 for 0.95.

    Args:
        p: above 0 and below 1. For the far upper tail ask for the lower one and turn the sign: 1 - p has lost digits.

    Raises:
        ValueError: p is outside its range, or is not a number.

    Source: Abramowitz and Stegun 26.2.23 for the first guess, then Halley's steps on the complementary error function.
    """
    if not 0 < p < 1:
        raise ValueError(f"no normal quantile at p={p}")
    tail = min(p, 1 - p)
    t = sqrt(-2 * log(tail))
    z = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
    for _ in range(3):
        newton = (tail - erfc(z / sqrt(2)) / 2) * sqrt(2 * pi) * exp(z * z / 2)
        z -= newton / (1 - newton * z / 2)
    return -z if p < 0.5 else z
