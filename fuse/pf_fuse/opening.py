"""Opening what is mounted, or used without a mount: a backend, with the places that are linked into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from pf_backends.linked import LinkedBackend
from pf_backends.opening import Surroundings, open_backend
from pf_backends.port import Backend
from pf_fuse.pages.cache import CacheSettings as PageSettings
from pf_fuse.pages.cache import PageCache
from pf_fuse.renewals import Renewals, keys_of
from pf_fuse.settings import CacheSettings, LinkSettings, RenewalSettings


def opened(
    url: str,
    properties: Mapping[str, str],
    links: Sequence[LinkSettings],
    *,
    read_only: bool,
    renewal: RenewalSettings | None = None,
) -> Backend:
    """Whether it answers is not tried."""
    renewals = Renewals(renewal) if renewal else None

    def around(path: str, properties: Mapping[str, str]) -> Surroundings:
        renew = partial(renewals.keys, path, keys_of(properties)) if renewals else None
        return Surroundings(renew=renew, read_only=read_only)

    backend = open_backend(url, properties, around("", properties))
    within = {link.path: open_backend(link.url, link.properties, around(link.path, link.properties)) for link in links}
    return LinkedBackend(backend, within) if within else backend


def page_cache(settings: CacheSettings) -> PageCache:
    return PageCache(PageSettings([str(path) for path in settings.folders], settings.size))
