from __future__ import annotations

import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_queue.clusters.vault import SealBroken, Vault

KEY = bytes(range(32))


@given(st.binary(max_size=2_000), st.text(max_size=20))
def test_what_is_sealed_can_be_opened(credential: bytes, cluster: str) -> None:
    vault = Vault(KEY)
    sealed = vault.seal(cluster, credential)
    assert vault.open(cluster, sealed) == credential
    if len(credential) > 8:
        assert credential not in sealed


def test_nothing_stays_nothing() -> None:
    assert Vault(KEY).seal("c", b"") == Vault(KEY).open("c", b"") == b""


def test_equal_credentials_are_not_seen_to_be_equal() -> None:
    vault = Vault(KEY)
    assert vault.seal("c", b"kubeconfig") != vault.seal("c", b"kubeconfig")


def test_a_seal_holds_for_one_cluster_and_one_key() -> None:
    sealed = Vault(KEY).seal("c", b"kubeconfig")
    with pytest.raises(SealBroken, match="the key does not open the credential of cluster 'd'"):
        Vault(KEY).open("d", sealed)
    with pytest.raises(SealBroken):
        Vault(secrets.token_bytes(32)).open("c", sealed)


@given(st.data())
def test_a_changed_byte_is_noticed_wherever_it_is(data: st.DataObject) -> None:
    sealed = bytearray(Vault(KEY).seal("c", b"kubeconfig"))
    sealed[data.draw(st.integers(0, len(sealed) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(SealBroken):
        Vault(KEY).open("c", bytes(sealed))


@given(st.binary(min_size=1, max_size=40))
def test_what_was_never_sealed_cannot_be_opened(junk: bytes) -> None:
    with pytest.raises(SealBroken):
        Vault(KEY).open("c", junk)


@pytest.mark.parametrize("length", [0, 16, 31, 33])
def test_a_key_has_32_bytes(length: int) -> None:
    with pytest.raises(ValueError, match=f"must have 32 bytes, and has {length}"):
        Vault(bytes(length))
