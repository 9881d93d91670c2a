"""What stands in the audit log of what becomes of the belongings of users who are deleted."""

from __future__ import annotations

from pf_kit.unit import AuditEntry

CAUSE = "/paddleflow.auth.v1.UserService/DeleteUser"
"""Named as the method, since nobody called the service that notes it."""


def departure_entry(service: str, subject: str) -> AuditEntry:
    """That a service has let go of what a deleted user had."""
    return AuditEntry(f"service/{service}", "", CAUSE, subject, "", "")
