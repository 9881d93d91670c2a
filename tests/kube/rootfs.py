"""Makes images of this project's Dockerfiles without a container engine, so that what is shipped is what is tested.

A base image is what debootstrap makes. Each step writes a layer of its own below `.cache/kube/layers`, which is kept as
long as neither the step nor anything before it changes. All mounts are made in namespaces of their own, which are gone
with the command that needed them.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kube import images
from kube.parts import CACHE, PartsMissing
from kube.recipes import NotUnderstood, Stage, Step, read
from support.repository import ROOT, tracked

LAYERS = CACHE / "layers"
DOCKERFILES = ROOT / "deploy" / "docker"
MIRROR = "http://deb.debian.org/debian"
SUITES = {"debian:bookworm-slim": "bookworm"}
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
NETWORK = (
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "UV_INDEX_URL",
    "PIP_INDEX_URL",
)
"""What a step is told of the way out, beside its own variables."""
FORGET = 'rm --recursive --force "$at"/run/build/uv/sdists-*/path'
"""What uv has built of this project: it would take it for what it builds now, being of the same version."""


@dataclass(frozen=True, slots=True)
class Layers:
    """The files of a stage: layers, the newest first."""

    folders: tuple[Path, ...]
    key: str
    """Of all that they were made of."""


def archive(name: str, tag: str) -> Path:
    """The image of a Dockerfile, as an archive that containerd and Docker load; made anew only if it has changed.

    Another process that makes it is waited for.
    """
    LAYERS.mkdir(parents=True, exist_ok=True)
    with (CACHE / "images.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _archive(name, tag)


def _archive(name: str, tag: str) -> Path:
    stages = read((DOCKERFILES / f"{name}.Dockerfile").read_text())
    made: dict[str, Layers] = {}
    for stage in stages:
        made[stage.name] = layers_of(stage, made)
    image = made[stages[-1].name]
    settings = stages[-1].settings
    known = digest(image.key, tag, json.dumps(settings, sort_keys=True))
    found = CACHE / "images" / f"{name}-{known[:16]}.tar"
    if not found.exists():
        write(image, tag, settings, found)
    return found


def layers_of(stage: Stage, made: Mapping[str, Layers]) -> Layers:
    layers = made[stage.base] if stage.base in made else base(stage.base)
    for step in stage.steps:
        layers = after(step, layers, made)
    return layers


def base(name: str) -> Layers:
    if name not in SUITES:
        raise NotUnderstood(f"FROM {name}: only {', '.join(SUITES)} can be made here")
    suite = SUITES[name]
    folder = LAYERS / suite
    if not folder.exists():
        sys.stderr.write(f"kube: making {name}\n")
        with new_folder(folder) as new:
            checked(["debootstrap", "--variant=minbase", suite, str(new), MIRROR])
            shutil.rmtree(new / "var" / "cache" / "apt" / "archives")
            (new / "etc" / "resolv.conf").write_text("")
    return Layers((folder,), suite)


def after(step: Step, before: Layers, made: Mapping[str, Layers]) -> Layers:
    """The layers after a step; it is done only if they are not known yet."""
    with tempfile.TemporaryDirectory() as scratch:
        sources = gathered(step, Path(scratch)) if step.kind == "COPY" and not step.source else ""
        origin = made[step.source].key if step.source else ""
        key = digest(before.key, repr(step), sources, origin)
        folder = LAYERS / key[:24]
        if not folder.exists():
            sys.stderr.write(f"kube: {step.kind} {' '.join(step.words)[:100]}\n")
            with new_folder(folder) as new:
                script = running(step) if step.kind == "RUN" else copying(step, Path(scratch), made)
                inside(before, script, new)
        return Layers((folder, *before.folders), key)


def gathered(step: Step, scratch: Path) -> str:
    """Puts what is copied of the project into a folder, as it will lie in the image; returns what tells it apart."""
    *sources, target = step.words
    several = len(sources) > 1 or target.endswith(("/", "."))
    into = scratch / os.path.normpath(f"{step.folder}/{target}").lstrip("/")
    known = hashlib.sha256()
    for source in sources:
        for path in sorted(tracked(source)):
            place = into / path.relative_to(ROOT / source) if path != ROOT / source else into / path.name
            if path == ROOT / source and not several:
                place = into
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
            known.update(repr((str(place.relative_to(scratch)), path.stat().st_mode)).encode() + path.read_bytes())
    return known.hexdigest()


def running(step: Step) -> str:
    """In what looks like a machine of its own."""
    variables = {"PATH": PATH, "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive", **step.variables}
    variables |= {name: os.environ[name] for name in NETWORK if name in os.environ}
    trusted = "/run/build/ca.crt"
    variables |= {"SSL_CERT_FILE": trusted, "PIP_CERT": trusted, "UV_CACHE_DIR": "/run/build/uv"}
    told = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
    command = f"mkdir -p {step.folder} && cd {step.folder} && {step.words[0]}"
    cache = ROOT / ".cache" / "uv"
    cache.mkdir(exist_ok=True)
    return f"""
        mount --rbind /dev "$at/dev"; mount -t proc proc "$at/proc"; mount -t tmpfs tmpfs "$at/run"
        mount --bind /etc/resolv.conf "$at/etc/resolv.conf"
        mkdir -p "$at/run/build/uv"; touch "$at/run/build/ca.crt"
        mount --bind {AUTHORITIES} "$at{trusted}"; mount --bind {cache} "$at/run/build/uv"
        {FORGET}
        chroot "$at" env -i {told} /bin/sh -euc {shlex.quote(command)}
    """


def copying(step: Step, scratch: Path, made: Mapping[str, Layers]) -> str:
    if not step.source:
        return f'cp --recursive --no-target-directory {scratch} "$at"'
    source, target = step.words
    return f"""
        mkdir "$at.from"; mount -t overlay overlay -o {lower(made[step.source])} "$at.from"
        mkdir -p "$at{Path(target).parent}"
        cp --archive "$at.from{source}" "$at{target}"
    """


def write(image: Layers, tag: str, settings: Mapping[str, object], place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        layer, new = Path(scratch) / "layer.tar", Path(scratch) / "new.tar"
        inside(image, f'tar --create --numeric-owner --sort=name --file={layer} --directory="$at" .')
        images.write(images.Image((tag,), layer, settings), new)
        new.rename(place)


def inside(layers: Layers, script: str, changes: Path | None = None) -> None:
    """Runs a script with the layers mounted at `$at`; what it changes there goes to a folder of its own."""
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        at, work = Path(scratch) / "at", Path(scratch) / "work"
        for folder in (at, work):
            folder.mkdir()
        # One layer alone is no overlay.
        options = f"{lower(layers)},upperdir={changes},workdir={work}" if changes else f"{lower(layers)}:{at}"
        mounting = f'at={at}; mount -t overlay overlay -o {options} "$at"'
        checked(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", f"{mounting}\n{script}"])


def lower(layers: Layers) -> str:
    return "lowerdir=" + ":".join(str(folder) for folder in layers.folders)


@contextmanager
def new_folder(place: Path) -> Iterator[Path]:
    """One that is at its place only when what was done with it has ended well."""
    new = place.with_name(f"{place.name}.new")
    if new.exists():
        shutil.rmtree(new)
    new.mkdir(parents=True)
    new.chmod(0o755)
    try:
        yield new
    except BaseException:
        shutil.rmtree(new)
        raise
    new.rename(place)


def checked(command: Sequence[str]) -> None:
    """What it says is of interest only if it fails."""
    result = subprocess.run(["nice", "-n", "10", *command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode != 0:
        raise PartsMissing(f"{shlex.join(command)[:300]} failed:\n{(result.stdout + result.stderr)[-3000:]}")


def digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
