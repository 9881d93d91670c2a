"""What holds for every test."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# gRPC waits for its threads before each fork, now and then for ever. What is forked here only becomes another program.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

# A shell ignores interrupts for what it runs in the background, and all that is started here would inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says more about what else the machine does than about the test.
settings.register_profile("paddleflow", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("paddleflow")

# Its failures are to tell what was seen, as those of tests do.
pytest.register_assert_rewrite("support.twins")

pytest_plugins = [
    "fixtures_backends",
    "fixtures_client",
    "fixtures_csi",
    "fixtures_fs",
    "fixtures_fuse",
    "fixtures_queue",
    "fixtures_jobs",
    "fixtures_kube",
    "fixtures_pipelines",
    "fixtures_pipeline_cast",
    "fixtures_servers",
]


class NothingSkipped:
    """Fails the run if a test was skipped: a CI machine has all that the tests need."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
            self.reasons.append(f"{report.nodeid}: {reason}")

    @pytest.hookimpl
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.reasons and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for reason in self.reasons:
            terminalreporter.write_line(f"skipped, which CI does not allow: {reason}", red=True)


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("CI") == "true" and not hasattr(config, "workerinput"):
        config.pluginmanager.register(NothingSkipped())
