#!/usr/bin/env bash
# Makes .tools (uv) and .venv (the workspace with all its dependencies) in this project, or does nothing if they are
# up to date. Writes only below the project; the exceptions are said aloud: system packages, if pip or fusermount3 is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

UV_VERSION=0.13.8
NEWEST=14 OLDEST=11 # minor versions of Python 3 that are tried by name

say() { printf 'setup: %s\n' "$*" >&2; }

fail() {
    say "$@"
    exit 1
}

works() { # a shim can be there without the Python behind it, and an old Python is no use
    "$1" -I -c "import sys; sys.exit(sys.version_info < (3, $OLDEST))" 2>/dev/null
}

can_make_environments() { "$1" -I -c 'import ensurepip, venv' 2>/dev/null; }

can_install() { can_make_environments "$1" || "$1" -I -m pip --version >/dev/null 2>&1; }

find_python() { # the first Python that works and can install, in the order of the user's PATH
    local name path
    for name in python3 $(seq -f 'python3.%g' $NEWEST -1 $OLDEST); do
        while read -r path; do
            if works "$path" && can_install "$path"; then
                echo "$path"
                return
            fi
        done < <(type -ap "$name")
    done
    return 1
}

may_install() { # whether system packages can be installed without a question
    type -P apt-get >/dev/null && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }
}

install_package() {
    local as=() command="apt-get install -y $1"
    [ "$(id -u)" = 0 ] || as=(sudo -n)
    say "running: ${as[*]} $command"
    # The package lists of a fresh machine may be empty.
    DEBIAN_FRONTEND=noninteractive "${as[@]}" $command >&2 ||
        { "${as[@]}" apt-get update >&2 && DEBIAN_FRONTEND=noninteractive "${as[@]}" $command >&2; }
}

install_python() {
    may_install ||
        fail "needs Python 3.$OLDEST or newer with venv, and may not install it. Run:  sudo apt-get install -y python3-venv"
    say "no usable Python 3.$OLDEST or newer with venv"
    install_package python3-venv ||
        fail "could not install it. Run:  sudo apt-get update && sudo apt-get install -y python3-venv"
}

install_fuse() { # all else works without it
    if type -P fusermount3 >/dev/null; then return; fi
    if ! may_install || ! install_package fuse3; then
        say "only root can mount filesystems until you run:  sudo apt-get install -y fuse3"
    fi
}

has_uv() { [ "$(.tools/bin/uv --version 2>/dev/null | cut -d' ' -f2)" = "$UV_VERSION" ]; }

install_uv() {
    local python=$1
    say "installing uv $UV_VERSION into .tools with $python"
    rm -rf .tools
    if can_make_environments "$python"; then
        "$python" -m venv .tools
        .tools/bin/python -m pip install --quiet --disable-pip-version-check "uv==$UV_VERSION"
    else # Debian without python3-venv, but with pip
        "$python" -m pip install --quiet --disable-pip-version-check --target .tools "uv==$UV_VERSION"
    fi
}

fingerprint() { sha256sum uv.lock pyproject.toml client/pyproject.toml tools/setup.sh; }

ready() {
    [ -f .venv/.ready ] && [ "$(<.venv/.ready)" = "$(fingerprint)" ] && .venv/bin/python -I -S -c '' 2>/dev/null
}

if ready; then exit 0; fi
[ -w . ] || fail "$PWD belongs to another user, and what is set up there does not work for you. Use a clone of your own."

mkdir -p .cache
exec 9>.cache/setup.lock
flock 9 # two makes at once: the second waits, then finds all done
if ready; then exit 0; fi

export UV_CACHE_DIR=${UV_CACHE_DIR:-$PWD/.cache/uv} PIP_CACHE_DIR=${PIP_CACHE_DIR:-$PWD/.cache/pip}
export UV_PYTHON_DOWNLOADS=never
unset VIRTUAL_ENV

python=$PWD/.venv/bin/python
if ! works "$python"; then
    python=$(find_python) || { install_python && python=$(find_python); } ||
        fail "this system has no Python 3.$OLDEST. Install one, see https://www.python.org/downloads/"
    rm -rf .venv
fi
has_uv || install_uv "$python"
say "installing the workspace into .venv"
.tools/bin/uv sync --frozen --all-extras --python "$python"
install_fuse
fingerprint >.venv/.ready
say "ready"
