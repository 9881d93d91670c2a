#!/usr/bin/env bash
# Installs what tries a mount for long: two suites of crates.io below .cache, and programs of Debian where root may.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

for suite in pjdfstest@0.2.2 fsx@0.3.2; do
    if [ -x ".cache/soak/bin/${suite%@*}" ]; then continue; fi
    printf 'building %s\n' "$suite" >&2
    CARGO_TARGET_DIR=.cache/soak/target cargo install --quiet --locked --root .cache/soak "$suite"
    rm -rf .cache/soak/target
done

missing=()
for program in stress-ng fio git sqlite3 cc; do
    command -v "$program" >/dev/null || missing+=("${program/#cc/gcc}")
done
if [ "${#missing[@]}" -gt 0 ]; then
    printf 'installing %s\n' "${missing[*]}" >&2
    apt-get install --quiet --yes "${missing[@]}" >/dev/null
fi
