"""What users of the driver in a cluster have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kube.clients import Clients
from kube.driver import KEY_PAIR, KEYS_SECRET, RUN, Driver, secret
from kube.kubectl import Kubectl
from kube.storage import Store


@pytest.fixture
def own(driver: Driver, store: Store, kubectl: Kubectl) -> Kubectl:  # both have to be there
    """A namespace with what opens the store."""
    kubectl.apply(secret(KEYS_SECRET, KEY_PAIR))
    return kubectl


@pytest.fixture(scope="module")
def clients(driver: Driver) -> Iterator[Clients]:
    """The same driver, whose clients are pods as long as tests of this file run."""
    driver.turn_to("pods")
    yield Clients(driver)
    driver.turn_to(RUN)


@pytest.fixture
def here(own_driver: Driver) -> Kubectl:
    """The same in a cluster that a test may leave as it likes, in which the driver is not installed yet."""
    kubectl = own_driver.cluster.kubectl
    kubectl.apply(secret(KEYS_SECRET, KEY_PAIR))
    return kubectl
