"""What users of the driver in a cluster have."""

from __future__ import annotations

import pytest

from kube.driver import KEY_PAIR, KEYS_SECRET, Driver, secret
from kube.kubectl import Kubectl
from kube.storage import Store


@pytest.fixture
def own(driver: Driver, store: Store, kubectl: Kubectl) -> Kubectl:  # both have to be there
    """A namespace with what opens the store."""
    kubectl.apply(secret(KEYS_SECRET, KEY_PAIR))
    return kubectl


@pytest.fixture
def here(own_driver: Driver) -> Kubectl:
    """The same in a cluster that a test may leave as it likes, in which the driver is not installed yet."""
    kubectl = own_driver.cluster.kubectl
    kubectl.apply(secret(KEYS_SECRET, KEY_PAIR))
    return kubectl
