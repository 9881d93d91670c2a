#!/usr/bin/env bash
# Installs what `make bench-fuse` mounts beside ours: two products of the Python registry, one of Debian, and the
# example of libfuse that shows the folder below it, which is made from Debian's copy of it.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
libfuse=$here/../../../.cache/engines/libfuse
example=/usr/share/doc/libfuse3-dev/examples/passthrough_ll.c

# Lists of packages may be missing, or old.
apt() {
    apt-get --quiet --quiet "$@" || { apt-get --quiet --quiet update && apt-get --quiet --quiet "$@"; }
}

"$here/install.sh" juicefs rclone
missing=()
for needed in s3fs:s3fs fuse3:fusermount3 gcc:cc pkg-config:pkg-config; do
    command -v "${needed#*:}" >/dev/null || missing+=("${needed%:*}")
done
pkg-config --exists fuse3 2>/dev/null || missing+=(libc6-dev libfuse3-dev)
if [ "${#missing[@]}" -gt 0 ]; then
    printf 'installing %s\n' "${missing[*]}" >&2
    apt install --yes "${missing[@]}" >/dev/null
fi
if [ ! -x "$libfuse/passthrough_ll" ]; then
    # Images leave out what is in /usr/share/doc.
    rm -rf "$libfuse" && mkdir -p "$libfuse"
    (cd "$libfuse" && apt download libfuse3-dev && dpkg-deb --extract libfuse3-dev_*.deb .)
    # shellcheck disable=SC2046 - these are words
    cc -O2 -o "$libfuse/passthrough_ll" "$libfuse$example" $(pkg-config --cflags --libs fuse3)
fi
