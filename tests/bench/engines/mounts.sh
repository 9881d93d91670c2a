#!/usr/bin/env bash
# Installs the other products that `make bench-fuse` mounts: two of the Python registry, and programs of Debian.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")

"$here/install.sh" juicefs rclone
missing=()
for program in s3fs fusermount3; do
    command -v "$program" >/dev/null || missing+=("${program/#fusermount3/fuse3}")
done
if [ "${#missing[@]}" -gt 0 ]; then
    printf 'installing %s\n' "${missing[*]}" >&2
    apt-get install --quiet --yes "${missing[@]}" >/dev/null || {
        apt-get update --quiet >/dev/null && apt-get install --quiet --yes "${missing[@]}" >/dev/null
    }
fi
