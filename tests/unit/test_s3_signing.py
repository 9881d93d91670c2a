"""Signatures are those that AWS publishes as examples: "Signature Calculations for the Authorization Header"."""

from __future__ import annotations

import calendar

import pytest

from pf_backends.s3.settings import Keys
from pf_backends.s3.signing import EMPTY, Call, Signer, path_text, query_text

KEYS = Keys("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
WHEN = calendar.timegm((2013, 5, 24, 0, 0, 0))
HOST = "examplebucket.s3.amazonaws.com"


@pytest.mark.parametrize(
    ("call", "signature"),
    [
        (
            Call("GET", HOST, "/test.txt", "", EMPTY, {"range": "bytes=0-9"}),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            Call("GET", HOST, "/", query_text([("lifecycle", "")]), EMPTY, {}),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        ),
        (
            Call("GET", HOST, "/", query_text([("prefix", "J"), ("max-keys", "2")]), EMPTY, {}),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
        (
            Call(
                "PUT",
                HOST,
                path_text("/test$file.text"),
                "",
                "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
                {"date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"},
            ),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
    ],
)
def test_a_signature_is_the_published_one(call: Call, signature: str) -> None:
    signer = Signer("us-east-1")
    for _ in range(2):
        assert f"Signature={signature}\r\n" in signer.lines(call, KEYS, WHEN)


def test_a_session_is_signed_too() -> None:
    lines = Signer("us-east-1").lines(Call("GET", HOST, "/", "", EMPTY, {}), Keys("a", "s", "the-token"), WHEN)
    assert "x-amz-security-token: the-token\r\n" in lines
    assert "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token" in lines


def test_other_keys_and_days_sign_otherwise() -> None:
    signer, call = Signer("us-east-1"), Call("GET", HOST, "/", "", EMPTY, {})
    ways = [(KEYS, WHEN), (Keys("a", "other"), WHEN), (KEYS, WHEN + 86_400), (KEYS, WHEN)]
    lines = [signer.lines(call, keys, when) for keys, when in ways]
    assert lines[0] == lines[3]
    assert len(set(lines)) == 3


def test_keys_are_not_shown() -> None:
    assert "wJalr" not in repr(KEYS)
    assert "AKIA" not in repr(KEYS)
