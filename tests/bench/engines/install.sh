#!/usr/bin/env bash
# Installs the engines that are named (NAME.txt says what they need) each for itself in .cache/engines/NAME, or does
# nothing if that is up to date. They are apart, as they want different versions of the same, and outside of uv.lock.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

for name in "$@"; do
    list=tests/bench/engines/$name.txt
    folder=.cache/engines/$name
    if [ -f "$folder/.ready" ] && cmp -s "$list" "$folder/.ready"; then continue; fi
    printf 'installing %s\n' "$name" >&2
    rm -rf "$folder"
    .tools/bin/uv venv --quiet --relocatable --python .venv/bin/python "$folder"
    VIRTUAL_ENV=$folder .tools/bin/uv pip install --quiet --requirements "$list"
    cp "$list" "$folder/.ready"
done
