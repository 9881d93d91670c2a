"""What is wrong with a volume stands in the events of its pod, soon and in words that help, until it is mended."""

from __future__ import annotations

import pytest

from kube.claims import claim, claimed, inline, user, volume
from kube.driver import KEY_PAIR, KEYS_SECRET, Driver, secret
from kube.kubectl import Kubectl
from kube.storage import Store
from support.waiting import wait_until

pytestmark = [pytest.mark.kube, pytest.mark.timeout(600)]

SOON = 10.0
"""Seconds; this is promised."""


def test_wrong_keys_are_told_and_can_be_mended(own: Kubectl, store: Store, driver: Driver) -> None:
    store.write("locked/file", "behind a door")
    own.apply(secret("wrong", {"accessKey": "tester", "secretKey": "canary-of-a-wrong-key"}))
    own.apply(user("stranger", inline("locked", "wrong")))
    told = own.until_told("stranger", ["s3://volumes/locked cannot be mounted"], SOON)
    assert "canary" not in told
    own.apply(secret("wrong", KEY_PAIR))
    until_mended(driver, own, "stranger")
    assert own.execute("stranger", "cat", "/data/file") == "behind a door"


def test_a_bucket_that_is_missing_is_told_and_can_be_made(own: Kubectl, store: Store, driver: Driver) -> None:
    bucket = f"made-late-{own.namespace}"
    own.apply(user("early", inline("", KEYS_SECRET, bucket=bucket)))
    own.until_told("early", ["cannot be mounted", bucket], SOON)
    store.make_bucket(bucket)
    until_mended(driver, own, "early")
    own.execute("early", "sh", "-c", "echo new > /data/file")


def test_an_option_that_nobody_knows_is_named_and_can_be_taken_away(own: Kubectl, driver: Driver) -> None:
    name = f"{own.namespace}-odd"
    odd = volume(name, "odd", "odd", own, flags=["colour=blue"])
    own.apply(odd, claim("odd", class_name=""), user("painter", claimed("odd")))
    own.until_told("painter", ["'colour' is no option; there are"], SOON)
    own("patch", "pv", name, "--patch", '{"spec": {"mountOptions": ["uid=7"]}}')
    # The kubelet looks at the volume of a pod that waits for it again after minutes only.
    own.delete("pod", "painter")
    own.apply(user("painter", claimed("odd")))
    until_mended(driver, own, "painter")
    own.delete("pod", "painter")
    # As long as it has a claim it stays.
    own.delete("pvc", "odd")
    own.delete("pv", name)


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        pytest.param({"colour": "blue"}, "the volume has 'colour', which is not known", id="unknown"),
        pytest.param({"secretKey": "canary"}, "secretKey belongs in a secret, not in the volume", id="secret"),
        pytest.param({"url": "ftp://host/x"}, "kinds are s3, bos, hdfs, sftp", id="kind"),
        pytest.param({"url": "local:///etc"}, "/etc: a pod brings no folder of the machine", id="folder"),
        pytest.param({"url": "", "filesystem": "a/b"}, "the secret must have a token of PaddleFlow", id="token"),
    ],
)
def test_what_nobody_can_mean_is_named(own: Kubectl, attributes: dict[str, str], words: str) -> None:
    brought = inline("odd", KEYS_SECRET)
    brought["csi"]["volumeAttributes"] |= attributes
    own.apply(user("odd", brought))
    assert "canary" not in own.until_told("odd", [words], SOON)
    own.delete("pod", "odd")


def test_a_secret_that_is_missing_is_named(own: Kubectl, driver: Driver) -> None:
    own.apply(user("keyless", inline("keyless", "missing")))
    own.until_told("keyless", ["missing", "not found"], SOON)
    own.apply(secret("missing", KEY_PAIR))
    until_mended(driver, own, "keyless")


def until_mended(driver: Driver, kubectl: Kubectl, pod: str) -> None:
    """The pod runs, and nothing is said against its volume any more when the kubelet asks for it again."""
    kubectl.until_ready(pod, patience=300)
    before = warnings(kubectl, pod)
    found = kubectl.pod(pod)
    assert found is not None
    uid = found["metadata"]["uid"]
    published = driver.published(uid)
    wait_until(lambda: driver.published(uid) >= published + 2, patience=120, pause=0.5)
    assert warnings(kubectl, pod) == before


def warnings(kubectl: Kubectl, pod: str) -> list[tuple[str, int]]:
    """About its volume, with how often each was said."""
    return [(event["message"], event["count"]) for event in kubectl.events(pod) if event["reason"] == "FailedMount"]
