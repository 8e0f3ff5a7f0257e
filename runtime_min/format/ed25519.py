"""Verifies Ed25519 signatures (RFC 8032) in Python, for readers that have no cryptographic library.

Every value has one encoding, S is below the group's order, and a key of small order is refused: anybody can
sign for such a key. Nothing here is secret, so the time may depend on the values.
"""

from __future__ import annotations

import hashlib

_P = 2**255 - 19
"""The field is that of the integers modulo this prime."""
_ORDER = 2**252 + 27742317777372353535851937790883648493
"""Order of the base point."""
_D = -121665 * pow(121666, -1, _P) % _P
"""The curve is -x² + y² = 1 + _D x² y²."""
_ROOT = pow(2, (_P - 1) // 4, _P)
"""A square root of -1."""

_Point = tuple[int, int, int, int]
"""X, Y, Z and T = XY/Z of the point (X/Z, Y/Z)."""
_NEUTRAL: _Point = (0, 1, 1, 0)
_BASE_X = 15112221349535400772501151409588531511454012693041857206046113283949847762202
_BASE_Y = 4 * pow(5, -1, _P) % _P
_BASE: _Point = (_BASE_X, _BASE_Y, 1, _BASE_X * _BASE_Y % _P)


def verify(key: bytes, message: bytes, signature: bytes) -> bool:
    """Returns whether `signature` is that of `message` by the owner of the public key `key`.

    Args:
        key: 32 bytes, as `is_key` accepts them.
        message: what was signed.
        signature: 64 bytes: the point R, and the number S.
    """
    point, number = _decoded(key), int.from_bytes(signature[32:], "little")
    if point is None or _is_small(point) or len(signature) != 64 or number >= _ORDER:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little")
    x, y, z, t = point
    # R = [S]B - [challenge]A; its bytes are compared, so R has one encoding, too.
    expected = _sum_of_multiples(number, _BASE, challenge % _ORDER, (-x, y, z, -t))
    return _encoded(expected) == signature[:32]


def is_key(key: bytes) -> bool:
    """Returns whether `key` is the encoding of a point of the curve that has no small order."""
    point = _decoded(key)
    return point is not None and not _is_small(point)


def _decoded(data: bytes) -> _Point | None:
    """Returns the point that 32 bytes encode, or None if they are not the encoding of one."""
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    if len(data) != 32 or y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * _ROOT % _P
    if (x * x - square) % _P or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = _P - x
    return x, y, 1, x * y % _P


def _encoded(point: _Point) -> bytes:
    inverse = pow(point[2], -1, _P)
    x, y = point[0] * inverse % _P, point[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _is_small(point: _Point) -> bool:
    """Returns whether the point's order divides 8."""
    for _ in range(3):
        point = _added(point, point)
    return point[0] == 0 and point[1] == point[2]


def _added(one: _Point, other: _Point) -> _Point:
    """Returns the sum of any two points: the curve's formula has no exceptions."""
    a = (one[1] - one[0]) * (other[1] - other[0])
    b = (one[1] + one[0]) * (other[1] + other[0])
    c = 2 * _D * one[3] * other[3]
    d = 2 * one[2] * other[2]
    e, f, g, h = b - a, (d - c) % _P, (d + c) % _P, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _sum_of_multiples(one: int, point: _Point, other: int, other_point: _Point) -> _Point:
    """Returns `one` times `point` plus `other` times `other_point`, both below 2**253."""
    both = _added(point, other_point)
    result = _NEUTRAL
    for bit in reversed(range(253)):
        result = _added(result, result)
        choice = (one >> bit & 1) + 2 * (other >> bit & 1)
        if choice:
            result = _added(result, (point, other_point, both)[choice - 1])
    return result
