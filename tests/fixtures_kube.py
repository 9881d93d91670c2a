"""A real Kubernetes for tests."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from kube.build import build
from kube.cluster import Cluster, running_cluster
from kube.driver import Driver
from kube.helm import Helm
from kube.kubectl import Kubectl
from kube.parts import PartsMissing, prepare
from kube.storage import Store


def have(*modules: str) -> None:
    """Builds them, if that has not been done; where it cannot be, says what is missing."""
    try:
        prepare()
        build(*modules)
    except PartsMissing as missing:
        pytest.fail(str(missing), pytrace=False)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """One for all tests, which leave it as it was."""
    have("kubernetes")
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture
def own_cluster() -> Iterator[Cluster]:
    """One that a test may leave as it likes."""
    have("kubernetes")
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture
def helm(tmp_path: Path) -> Helm:
    have("helm")
    return Helm(tmp_path)


@pytest.fixture
def kubectl(cluster: Cluster) -> Iterator[Kubectl]:
    """In a namespace of its own, which goes with all that is in it."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    cluster.kubectl("create", "namespace", name)
    cluster.until(
        lambda: cluster.api.find(f"/api/v1/namespaces/{name}/serviceaccounts/default") is not None, "apiserver"
    )
    yield cluster.kubectl.within(name)
    cluster.kubectl.delete("namespace", name)


@pytest.fixture(scope="session")
def store(cluster: Cluster) -> Store:
    """An object store that the cluster reaches."""
    store = Store(cluster)
    store.start()
    return store


@pytest.fixture
def own_driver(own_cluster: Cluster, tmp_path: Path) -> Driver:
    """The driver, for `own_cluster`: all that it needs is there, and it is not installed yet."""
    have("helm", "sidecars")
    driver = Driver(own_cluster, tmp_path)
    driver.load()
    Store(own_cluster).start()
    return driver


@pytest.fixture(scope="session")
def driver(cluster: Cluster, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Driver:
    """The CSI driver, installed by Helm."""
    have("helm", "sidecars")
    driver = Driver(cluster, tmp_path_factory.mktemp("driver"))
    driver.load()
    driver.install()
    return driver
