"""What replicas are given to call the job service, and how long it is good."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from paddleflow.channel import Tls
from paddleflow.problems import TokenInvalid, TokenRevoked
from paddleflow.training.environment import own_connection
from pf_job.app import entrance
from pf_job.driving.passes import Entrance, Passes
from pf_job.jobs.bearers import Bearer, bearer_of, require_alive
from pf_job.jobs.domain import Job, TaskKey
from pf_job.jobs.life import Life
from pf_job.jobs.states import Stage
from pf_job.runtimes.local.records import Order
from pf_job.runtimes.local.translate import order
from pf_job.runtimes.port import Launch
from pf_job.settings import JobSettings
from pf_job.specs.domain import JobSpec, JobType
from pf_kit.auth import TokenAuthenticator, TokenState
from pf_kit.principal import Principal, PrincipalKind
from pf_kit.settings import load
from pf_kit.token_status import CachedTokenStatus
from pf_kit.tokens import Signer, Verifier, new_private_key
from support.certificates import Authority
from support.hand_clock import HandClock

KEY = TaskKey("job-1", 2, "worker", 3, 1)
LIFE = replace(Life(accept_time=datetime(2030, 1, 1, tzinfo=UTC)), attempt=2, stage=Stage.WATCH)
JOB = Job(id="job-1", owner="ada", type=JobType.SINGLE, spec=JobSpec(id="job-1"), life=LIFE, number=77)
NEEDED = {
    "PF_JOB_DATABASE_DSN": "postgresql://x",
    "PF_JOB_REDIS": "redis://x",
    "PF_JOB_SIGNING_KEY": "x",
    "PF_JOB_QUEUE": "x:1",
    "PF_JOB_FS": "x:1",
}


class Nobody:
    """Is never asked about the tokens of jobs."""

    async def check(self, token_id: str) -> TokenState | None:
        raise AssertionError(token_id)


def replica(number: int = 77, key: TaskKey = KEY) -> Bearer:
    return Bearer(number, key)


async def test_a_token_tells_which_replica_calls() -> None:
    clock, signer = HandClock(), Signer(new_private_key())
    passes = Passes(signer=signer, installation="here", entrance=Entrance("h:1"), clock=clock)
    secret = passes.private(JOB, KEY)["PF_JOB_TOKEN"]
    verifier = Verifier({signer.key_id: signer.public_key}, issuer="here", clock=clock)
    authenticator = TokenAuthenticator(verifier, CachedTokenStatus(Nobody(), clock), clock)
    caller = await authenticator.authenticate({"authorization": f"Bearer {secret}"})
    assert (caller.kind, caller.name, caller.root) == (PrincipalKind.JOB, "job-1", False)
    assert bearer_of(caller) == replica()


def test_others_are_no_replicas() -> None:
    assert bearer_of(Principal(PrincipalKind.USER, "job-1", token_id="77/2/worker/3/1")) is None
    for id_ in ("", "77/2/worker/3", "x/2/worker/3/1", "77/2/worker/3/1/9"):
        with pytest.raises(TokenInvalid):
            bearer_of(Principal(PrincipalKind.JOB, "job-1", token_id=id_))


@pytest.mark.parametrize("stage", Stage)
def test_a_token_is_good_as_long_as_the_attempt_has_replicas(stage: Stage) -> None:
    job = replace(JOB, life=replace(LIFE, stage=stage))
    if stage not in (Stage.SUBMIT, Stage.QUEUED, Stage.REVISE, Stage.RELEASE, Stage.OVER):
        assert require_alive(job, replica()) is job
    else:
        with pytest.raises(TokenRevoked):
            require_alive(job, replica())


@pytest.mark.parametrize(
    ("job", "bearer"),
    [
        (None, replica()),
        (JOB, replica(key=replace(KEY, attempt=1))),
        (JOB, replica(key=replace(KEY, attempt=3))),
        (replace(JOB, number=78), replica()),
    ],
    ids=["forgotten", "an older attempt", "a later one", "another job of this id"],
)
def test_a_token_is_worthless_for_anything_else(job: Job | None, bearer: Bearer) -> None:
    with pytest.raises(TokenRevoked):
        require_alive(job, bearer)


def test_without_an_entrance_there_is_no_token() -> None:
    passes = Passes(signer=Signer(new_private_key()), installation="here", entrance=None, clock=HandClock())
    assert (passes.open, passes.private(JOB, KEY)) == ({}, {})


def settings(**more: str) -> JobSettings:
    return load(JobSettings, "PF_JOB", {**NEEDED, **more})


@pytest.mark.parametrize(
    ("listen", "endpoint"),
    [
        ("unix:/s,127.0.0.1:8997", "127.0.0.1:8997"),
        ("127.0.0.1:0,[::1]:8997", "[::1]:8997"),
        ("unix:/s", ""),
        ("127.0.0.1:0", ""),
    ],
)
def test_replicas_call_where_the_service_listens(listen: str, endpoint: str) -> None:
    found = entrance(settings(PF_JOB_SERVER_LISTEN=listen))
    assert (found.endpoint if found else "") == endpoint


def test_replicas_call_where_they_are_told(tmp_path: Path) -> None:
    told = {"PF_JOB_SERVER_LISTEN": "unix:/s", "PF_JOB_LOCAL_ENDPOINT": "jobs:1"}
    assert entrance(settings(**told)) == Entrance("jobs:1")
    (tmp_path / "ca").write_text("a certificate")
    encrypted = {**told, "PF_JOB_SERVER_TLS_CERTIFICATE": "/c", "PF_JOB_SERVER_TLS_KEY": "/k"}
    assert entrance(settings(**encrypted)) == Entrance("jobs:1", "")
    assert entrance(settings(**encrypted, PF_JOB_SERVER_TLS_CA=str(tmp_path / "ca"))) == Entrance(
        "jobs:1", "a certificate"
    )
    assert entrance(settings(**encrypted, PF_JOB_SERVER_TLS_CLIENT_CA="/x")) is None, "they have no certificates"


def test_what_replicas_are_told_the_client_understands() -> None:
    ca = Authority("us").certificate.decode()
    plain, trusting, common = (Entrance("h:1", each).variables for each in (None, ca, ""))
    for variables, tls in ((plain, None), (trusting, Tls(ca=ca.encode())), (common, Tls())):
        connection = own_connection({**variables, "PF_JOB_TOKEN": "t"})
        assert (connection.address_of("job"), connection.token, connection.tls) == ("h:1", "t", tls)


def test_a_private_variable_is_told_to_the_replica_alone() -> None:
    secret = {"PF_JOB_TOKEN": "secret"}
    launch = Launch(
        key=KEY, tenant="ada", argv=["true"], env={"PF_JOB_TOKEN": "x", "A": "b"}, private_env=secret, cwd="/"
    )
    assert Order.of(order(launch, [], [])).env == {"PF_JOB_TOKEN": "secret", "A": "b"}
    assert "secret" not in repr(launch)
