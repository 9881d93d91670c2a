#!/bin/sh
# Runs a program as the first process of a container, and again whenever it is killed: what it has started lives on
# meanwhile, which it would not if the container ended with the program.
# Told to end, it tells the program, then all that is left, and waits for them: they upload what was written.
ended=
trap 'ended=yes; kill -TERM "$program" 2>/dev/null' TERM INT
while [ -z "$ended" ]; do
    "$@" &
    program=$!
    wait "$program"
    status=$?
    # A signal interrupts the waiting, not the program.
    while kill -0 "$program" 2>/dev/null; do wait "$program"; done
    # Nothing that it was told can be right if it ends by itself.
    [ -n "$ended" ] || [ "$status" -gt 128 ] || exit "$status"
done
kill -TERM -1 2>/dev/null
while kill -0 -1 2>/dev/null; do sleep 0.2; done
