#!/usr/bin/env bash
# Installs each framework of `packages` for itself in .cache/frameworks/NAME, or does nothing if that is up to date.
# Together they take about 9 GB. They are apart, as they want different versions of the same, and outside of uv.lock.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Replicas run under accounts that must be able to read their Python; that of .venv may lie in somebody's home.
python=/usr/bin/python3
"$python" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || python=$PWD/.venv/bin/python

for list in tests/frameworks/packages/*.txt; do
    name=$(basename "$list" .txt)
    folder=.cache/frameworks/$name
    if [ -f "$folder/.ready" ] && cmp -s "$list" "$folder/.ready"; then continue; fi
    printf 'installing %s\n' "$name" >&2
    rm -rf "$folder"
    # Replicas see it at another path.
    .tools/bin/uv venv --quiet --relocatable --python "$python" "$folder"
    VIRTUAL_ENV=$folder .tools/bin/uv pip install --quiet --requirements "$list"
    cp "$list" "$folder/.ready"
done
