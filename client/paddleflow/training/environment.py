"""What a replica of a job knows of the service that it belongs to."""

from __future__ import annotations

from collections.abc import Mapping

from paddleflow.channel import Tls
from paddleflow.connection import Connection
from paddleflow.problems import FailedPrecondition

TOKEN = "PF_JOB_TOKEN"  # noqa: S105 - the name of a variable
ENDPOINT = "PF_JOB_ENDPOINT"
CA = "PF_JOB_CA"


def own_connection(environ: Mapping[str, str]) -> Connection:
    """How this replica reaches the job service. Raises FailedPrecondition outside of a job."""
    if missing := [name for name in (ENDPOINT, TOKEN) if not environ.get(name)]:
        raise FailedPrecondition(
            f"{' and '.join(missing)} not set: this program does not run in a job, or the replicas of the job cannot "
            "call the job service"
        )
    ca = environ.get(CA)
    tls = None if ca is None else Tls(ca=ca.encode() or None)
    address = environ[ENDPOINT]
    return Connection(address, services={"job": address}, token=environ[TOKEN], tls=tls)
