#!/usr/bin/env bash
# Installs Airflow in .cache/exports/airflow and builds Argo's check of Workflows in .cache/exports, or does nothing if
# that is up to date. They are apart, outside of uv.lock; the first build takes minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

cache=$PWD/.cache/exports
mkdir -p "$cache"
list=tests/exports/airflow.txt
if ! { [ -f "$cache/airflow/.ready" ] && cmp -s "$list" "$cache/airflow/.ready"; }; then
    printf 'installing Airflow\n' >&2
    rm -rf "$cache/airflow"
    .tools/bin/uv venv --quiet --python .venv/bin/python "$cache/airflow"
    VIRTUAL_ENV=$cache/airflow .tools/bin/uv pip install --quiet --requirements "$list"
    cp "$list" "$cache/airflow/.ready"
fi
(cd tests/exports/argo && go build -o "$cache/argo-check" .)
