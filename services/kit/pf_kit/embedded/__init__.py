"""Postgres and Valkey as child processes on this machine, for the stack on one machine and for tests.

Linux only: children are tied to their parent, and processes are told apart, by what Linux offers for it.
"""
