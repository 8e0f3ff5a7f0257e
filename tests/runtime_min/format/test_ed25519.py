"""The verifier accepts what RFC 8032 makes, and refuses every other signature and encoding."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.format import ed25519
from tests.support.paths import ROOT

PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
WYCHEPROOF = json.loads((ROOT / "tests/golden/wycheproof/ed25519.json").read_text())["cases"]

# Key, message and signature of tests 1, 2, 3 and SHA(abc) in section 7.1; test 1024 is Wycheproof's case 71.
RFC_8032 = {
    "1": (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        b"",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        "d25bf5f0595bbe24655141438e7a100b",
    ),
    "2": (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        b"\x72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
        "387b2eaeb4302aeeb00d291612bb0c00",
    ),
    "3": (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        b"\xaf\x82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
        "4a7c15e9716ed28dc027beceea1ec40a",
    ),
    "SHA(abc)": (
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        hashlib.sha512(b"abc").digest(),
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e030"
        "3dca179c138ac17ad9bef1177331a704",
    ),
}


def point(y: int, sign: int = 0) -> bytes:
    return (y + (sign << 255)).to_bytes(32, "little")


# The y of the two pairs of points of order 8.
EIGHTH = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
)
SMALL = [
    *(point(1), point(PRIME - 1), point(0), point(0, 1)),
    *(point(y, sign) for y in (EIGHTH, PRIME - EIGHTH) for sign in (0, 1)),
]
NOT_CANONICAL = [
    *(point(PRIME + y, sign) for y in range(19) for sign in (0, 1)),
    *(point(y, 1) for y in (1, PRIME - 1)),
]


@pytest.mark.parametrize("name", RFC_8032)
def test_the_vectors_of_the_rfc_are_accepted(name: str) -> None:
    key, message, signature = RFC_8032[name]
    assert ed25519.verify(bytes.fromhex(key), message, bytes.fromhex(signature))
    assert not ed25519.verify(bytes.fromhex(key), message + b"\0", bytes.fromhex(signature))


@pytest.mark.parametrize("case", WYCHEPROOF, ids=lambda case: str(case[0]))
def test_the_cases_of_wycheproof_are_decided_as_it_says(case: tuple[Any, ...]) -> None:
    _, key, message, signature, valid = case
    assert ed25519.verify(*map(bytes.fromhex, (key, message, signature))) is valid


@pytest.mark.parametrize("key", SMALL, ids=bytes.hex)
def test_a_key_of_small_order_is_refused_although_anybody_can_sign_for_it(key: bytes) -> None:
    assert not ed25519.is_key(key)
    # S = 0 makes R = -kA, one of eight points, so that one of a few messages fits each of them.
    forged = [(point, b"%d" % number) for point in SMALL for number in range(16)]
    accepted = [(r, message) for r, message in forged if _equation_holds(key, message, r + bytes(32))]
    assert accepted
    assert not any(ed25519.verify(key, message, r + bytes(32)) for r, message in accepted)


def _equation_holds(key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


@pytest.mark.parametrize("key", [*NOT_CANONICAL, b"", bytes(31), bytes(33), point(2), point(PRIME - 2)])
def test_what_encodes_no_point_or_in_another_way_is_no_key(key: bytes) -> None:
    assert not ed25519.is_key(key)
    assert not ed25519.verify(key, b"", bytes(64))


# Keys that are sums of a multiple of the base point and a point of order 8 or 2. With [order - k]A in place
# of -[k]A, the first would be refused and the second accepted.
MIXED = [
    (
        "e01775fd597a42832e5eae8e0e3f63b929eb7c43bca777ee0e854d3270601158",
        b"3",
        "f55ab0870840139bdf0404e04de83c02eafdedbd8edd054585c28bb1cf2b152d907b77727c001b2cfa8c8c2a0fb288cb"
        "63582dc9c01a31ec6bb26b7fb8e42c0c",
        True,
    ),
    (
        "da2ec8a604b4b9d8c4948b5d2c6639331979fa7472bb53ae7c83507279f3a3fe",
        b"0",
        "3e0b035ef980fdf99f39c754603fea028813e41315f937d8cdfbbd2d1840f35ca2d3091793658d65d47c1dfce214ea15"
        "7bbba4b2c186ab952ca511bd54923602",
        False,
    ),
]


@pytest.mark.parametrize(("key", "message", "signature", "valid"), MIXED)
def test_a_key_with_a_part_of_small_order_is_used_as_openssl_uses_it(
    key: str, message: bytes, signature: str, valid: bool
) -> None:
    parts = bytes.fromhex(key), message, bytes.fromhex(signature)
    assert ed25519.verify(*parts) is _equation_holds(*parts) is valid


def test_a_second_encoding_of_s_is_refused() -> None:
    key, message, signature = RFC_8032["3"]
    r, s = bytes.fromhex(signature[:64]), int.from_bytes(bytes.fromhex(signature[64:]), "little")
    for other in range(s + ORDER, 2**256, ORDER):
        assert not ed25519.verify(bytes.fromhex(key), message, r + other.to_bytes(32, "little"))


@given(
    st.binary(min_size=32, max_size=32),
    st.binary(max_size=100),
    st.one_of(
        st.none(), st.tuples(st.sampled_from(["key", "message", "signature"]), st.integers(0, 1 << 16))
    ),
)
def test_it_agrees_with_openssl_about_every_signature(
    seed: bytes, message: bytes, flipped: tuple[str, int] | None
) -> None:
    private = Ed25519PrivateKey.from_private_bytes(seed)
    parts = {
        "key": private.public_key().public_bytes_raw(),
        "message": message,
        "signature": private.sign(message),
    }
    if flipped is not None and parts[flipped[0]]:
        name, bit = flipped
        data = bytearray(parts[name])
        data[bit // 8 % len(data)] ^= 1 << bit % 8
        parts[name] = bytes(data)
    found = ed25519.verify(parts["key"], parts["message"], parts["signature"])
    assert found is _equation_holds(parts["key"], parts["message"], parts["signature"])
