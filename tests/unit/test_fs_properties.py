"""The properties of each kind, as hostile callers write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_fs.domain import Kind
from pf_fs.properties import PROPERTIES, called, endpoint_host, parted, property_violations, secrets_of
from pf_fs.urls import place_of

S3 = {"endpoint": "s3.example.org", "accessKey": "AK", "secretKey": "SK"}


def wrong(kind: Kind, properties: dict[str, str]) -> dict[str, str]:
    found = property_violations(kind, properties)
    return {each.field.removeprefix("filesystem.properties."): each.description for each in found}


@pytest.mark.parametrize(
    ("kind", "properties"),
    [
        (Kind.LOCAL, {}),
        (Kind.S3, S3),
        (Kind.S3, {"endpoint": "http://[2001:db8::1]:9000/"}),
        (Kind.S3, S3 | {"region": "bj", "s3ForcePathStyle": "true", "insecureSkipVerify": "false", "dirMode": "0755"}),
        (Kind.S3, S3 | {"sessionToken": "x" * 4096, "fileMode": "644"}),
        (Kind.S3, S3 | {"ca": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}),
        (Kind.BOS, S3 | {"sts": "true", "duration": "43200", "acl": "private"}),
        (Kind.HDFS, {"user": "hdfs", "group": "x", "blockSize": "134217728", "replication": "3"}),
        (Kind.HDFS, {"dfs.namenode.address": "nn1:8020,nn2:8020", "kerberos.kdc": "kdc:88", "keytab.data": "AAAA"}),
        (Kind.SFTP, {"user": "alice", "password": "x"}),
        (Kind.SFTP, {"user": "alice", "privateKey": "-----BEGIN OPENSSH PRIVATE KEY-----\nx", "hostKey": "SHA256:x"}),
        (Kind.AFS, {"username": "alice", "password": "x"}),
    ],
)
def test_those_of_the_original_are_taken(kind: Kind, properties: dict[str, str]) -> None:
    assert wrong(kind, properties) == {}


@pytest.mark.parametrize(
    ("kind", "properties", "field"),
    [
        (Kind.LOCAL, {"debug": "1"}, "debug"),
        (Kind.S3, {}, "endpoint"),
        (Kind.S3, {"endpoint": "s3.example.org", "accessKey": "AK"}, "secretKey"),
        (Kind.S3, {"endpoint": "s3.example.org", "secretKey": "SK"}, "accessKey"),
        (Kind.S3, S3 | {"endpoint": "ftp://x"}, "endpoint"),
        (Kind.S3, S3 | {"endpoint": "http://u:p@x"}, "endpoint"),
        (Kind.S3, S3 | {"endpoint": "http://x/path"}, "endpoint"),
        (Kind.S3, S3 | {"endpoint": "x\r\nHost: y"}, "endpoint"),
        (Kind.S3, S3 | {"endpoint": "http://x:99999"}, "endpoint"),
        (Kind.S3, S3 | {"secretKey": ""}, "secretKey"),
        (Kind.S3, S3 | {"secretKey": "a\nb"}, "secretKey"),
        (Kind.S3, S3 | {"secretKey": "x" * 257}, "secretKey"),
        (Kind.S3, S3 | {"s3ForcePathStyle": "yes"}, "s3ForcePathStyle"),
        (Kind.S3, S3 | {"dirMode": "0999"}, "dirMode"),
        (Kind.S3, S3 | {"sts": "true"}, "sts"),
        (Kind.S3, S3 | {"ca": "/etc/ssl/ca.pem"}, "ca"),
        (Kind.BOS, S3 | {"duration": "59"}, "duration"),
        (Kind.BOS, S3 | {"duration": "\u0661\u0662\u0663"}, "duration"),
        (Kind.HDFS, {"replication": "0"}, "replication"),
        (Kind.HDFS, {"dfs.namenode.address": "nn1:8020,"}, "dfs.namenode.address"),
        (Kind.HDFS, {"keytab.data": "nonsense!"}, "keytab.data"),
        (Kind.SFTP, {"password": "x"}, "user"),
        (Kind.SFTP, {"user": "a", "privateKey": "~/.ssh/id_rsa"}, "privateKey"),
        (Kind.SFTP, {"user": "a", "x" * 5000: "y"}, "x" * 80),
    ],
)
def test_others_are_named(kind: Kind, properties: dict[str, str], field: str) -> None:
    assert field in wrong(kind, properties)


def test_secrets_are_parted_from_the_rest() -> None:
    assert parted(Kind.S3, S3) == ({"endpoint": "s3.example.org", "accessKey": "AK"}, {"secretKey": "SK"})
    assert {kind: sorted(secrets_of(kind)) for kind in Kind if secrets_of(kind)} == {
        Kind.S3: ["secretKey", "sessionToken"],
        Kind.BOS: ["secretKey", "sessionToken"],
        Kind.HDFS: ["keytab.data"],
        Kind.SFTP: ["password", "privateKey"],
        Kind.AFS: ["password"],
    }


UNLIKE_WORDS = st.text(min_size=12).map(lambda text: f"{text}§")
"""Longer than what is not looked for, and in no description by itself."""


@given(
    st.sampled_from(Kind),
    st.dictionaries(st.one_of(st.text(), st.sampled_from(sorted(S3))), st.one_of(st.text(max_size=12), UNLIKE_WORDS)),
)
def test_whatever_is_written_is_judged_and_no_value_is_repeated(kind: Kind, properties: dict[str, str]) -> None:
    for violation in property_violations(kind, properties):
        assert len(violation.field) < 120
        assert len(violation.description) < 400
        assert not any(len(value) > 12 and value in violation.description for value in properties.values())


@given(st.text(max_size=60))
def test_an_endpoint_names_one_host_or_is_none(text: str) -> None:
    for value in (text, f"https://{text}"):
        if host := endpoint_host(value):
            assert host.name.isascii()
            assert not set(host.name) & set("/@?#\\ \r\n")


@pytest.mark.parametrize(
    ("url", "properties", "hosts"),
    [
        ("s3://bucket/x", {"endpoint": "http://s3.example.org:9000"}, ["s3.example.org", "bucket.s3.example.org"]),
        ("hdfs://a:1,b:2/x", {"kerberos.kdc": "c:88"}, ["a", "b", "c"]),
        ("sftp://[2001:db8::1]:22/x", {"user": "x"}, ["2001:db8::1"]),
        ("local:///x", {}, []),
        ("cfs://host/x", {}, []),
    ],
)
def test_all_hosts_that_are_called_are_known(url: str, properties: dict[str, str], hosts: list[str]) -> None:
    assert [each.name for each in called(place_of(url), properties)] == hosts


def test_no_property_has_a_name_that_a_mask_could_mistake() -> None:
    assert not any(name.startswith(".") or name.endswith(".") for known in PROPERTIES.values() for name in known)
