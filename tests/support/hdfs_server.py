"""A Hadoop file system of a name node and a data node, with the programs that come inside of Spark's package."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import urllib.request
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path

from pf_backends.hdfs import hadoop_pb2 as hadoop
from pf_backends.hdfs.backend import HdfsBackend
from pf_backends.hdfs.settings import HdfsSettings
from support import foreign
from support.repository import ROOT
from support.s3_servers import free_ports
from support.servers import wait_until

_HADOOP = ROOT / ".cache" / "hadoop"
_SPARK = (
    "https://files.pythonhosted.org/packages/13/29/1a5d7c60609dfc8fd79c86965e95ea7e9e181385d839bc43913d277effa2/"
    "pyspark-2.4.8.tar.gz"
)
"""The last of those with a Hadoop that has servers in it: 2.7.3."""
_SPARK_SHA256 = "3a19b71b8dc8dd91ebc943604a05e1ab01bce052456d42937035632d852d78dc"
_JARS = (
    "hadoop-annotations-*",
    "hadoop-auth-*",
    "hadoop-common-*",
    "hadoop-hdfs-*",
    "commons-*",
    "guava-*",
    "htrace-*",
    "jackson-*-asl-*",
    "javax.servlet-*",
    "javax.ws.rs-*",
    "jetty-*",
    "leveldbjni-*",
    "log4j-*",
    "netty-*",
    "protobuf-java-*",
    "slf4j-*",
    "xercesImpl-*",
    "xmlenc-*",
)
_JAVA = (
    "-Xmx256m",
    # They live for a minute: it does not pay to make them fast.
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xshare:auto",
    "-Djava.net.preferIPv4Stack=true",
    # Hadoop 2.7 was written for Java 7, which let everybody look at everything.
    *(f"--add-opens=java.base/{each}=ALL-UNNAMED" for each in ("java.lang", "java.nio", "java.net", "sun.nio.ch")),
)
BLOCK = 8 << 20
_NAME_NODE, _DATA_NODE = "namenode.NameNode", "datanode.DataNode"
_ADDRESSES = ("namenode.http-", "datanode.", "datanode.http.", "datanode.ipc.")
_SETTINGS = {
    "dfs.replication": "1",
    # Small, so that files of several blocks are cheap.
    "dfs.blocksize": str(BLOCK),
    "dfs.namenode.fs-limits.min-block-size": "1024",
    "dfs.webhdfs.enabled": "false",
    "dfs.namenode.safemode.extension": "0",
    "dfs.heartbeat.interval": "1",
}
SUPERUSER = "tester"
_LOG = """log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d %p %c: %m%n
"""


class HdfsServer:
    """One that runs. All that it has is in a folder that goes away with it."""

    def __init__(self, data_nodes: int = 1) -> None:
        foreign.require("java", "--version", at_least=(11, 0))
        self.folder = Path(tempfile.mkdtemp(prefix="pf"))
        self._port = free_ports(1)[0]
        self._jars = built_hadoop()
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        try:
            self._configure()
            self._run(_NAME_NODE, "-format").wait(60)
            self.start_name_node()
            for number in range(data_nodes):
                self.start_data_node(number)
        except BaseException:
            self.stop()
            raise

    @property
    def settings(self) -> HdfsSettings:
        return HdfsSettings((("127.0.0.1", self._port),), SUPERUSER, deadline=20.0)

    def start_name_node(self) -> None:
        self._run(_NAME_NODE)

    def start_data_node(self, number: int = 0) -> None:
        known = self._said(_NAME_NODE)
        process = self._run(_DATA_NODE, f"-Ddfs.datanode.data.dir=file://{self.folder}/data{number}", number=number)
        wait_until(lambda: self._said(_NAME_NODE) > known, process, 60.0)

    def kill_name_node(self) -> None:
        self._kill(f"{_NAME_NODE}0")

    def kill_data_node(self, number: int = 0) -> None:
        self._kill(f"{_DATA_NODE}{number}")

    def pause_data_node(self, number: int) -> None:
        """It says nothing any more."""
        self._running[f"{_DATA_NODE}{number}"].send_signal(signal.SIGSTOP)

    def keep_open(self, backend: HdfsBackend, path: str) -> None:
        """Somebody adds to a file, and does not come to an end."""
        files = backend._files()  # noqa: SLF001
        files.ask(path, "append", hadoop.Append(path=files.where(path), writer="somebody"), hadoop.Append.Reply)

    def flip_a_bit_of(self, body: bytes) -> None:
        """On the disk of the data node, in the only block, at its end."""
        (file,) = [each for each in self.folder.rglob("blk_*") if each.suffix != ".meta" and each.read_bytes() == body]
        with file.open("r+b") as block:
            block.seek(len(body) - 1)
            block.write(bytes([body[-1] ^ 1]))

    def stop(self) -> None:
        for program in list(self._running):
            self._kill(program)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _kill(self, program: str) -> None:
        process = self._running.pop(program)
        process.kill()
        process.wait()

    def _said(self, program: str) -> int:
        """How many data nodes the name node has heard from so far."""
        log = self.folder / f"{program}.log"
        return log.read_text().count("BLOCK* processReport: from storage") if log.exists() else 0

    def _configure(self) -> None:
        folder = self.folder
        (folder / "log4j.properties").write_text(_LOG)
        for part in ("hdfs", "datanode"):
            place = folder / "webapps" / part / "WEB-INF"
            place.mkdir(parents=True)
            (place / "web.xml").write_text("<web-app/>")
        _write(folder / "core-site.xml", {"fs.defaultFS": f"hdfs://127.0.0.1:{self._port}"})
        nowhere = {f"dfs.{each}address": "127.0.0.1:0" for each in _ADDRESSES}
        places = {"dfs.namenode.name.dir": f"file://{folder}/name"}
        _write(folder / "hdfs-site.xml", _SETTINGS | nowhere | places)

    def _run(self, program: str, *words: str, number: int = 0) -> subprocess.Popen[bytes]:
        kind = f"org.apache.hadoop.hdfs.server.{program}"
        command = ["java", *_JAVA, "-cp", f"{self.folder}:{self._jars}/*", kind, *words]
        with (self.folder / f"{program}.log").open("ab") as log:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=os.environ | {"HADOOP_USER_NAME": SUPERUSER},
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        if words != ("-format",):
            self._running[f"{program}{number}"] = process
        return process


def built_hadoop() -> Path:
    """The folder of its programs, which are fetched once for this checkout."""
    _HADOOP.mkdir(parents=True, exist_ok=True)
    with (_HADOOP / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        jars = _HADOOP / "jars"
        if not jars.exists():
            _fetch(_HADOOP / "spark.tar.gz")
            _extract(_HADOOP / "spark.tar.gz", jars)
    return jars


def _fetch(archive: Path) -> None:
    found = hashlib.sha256()
    with urllib.request.urlopen(_SPARK, timeout=60) as body, archive.open("wb") as file:
        while piece := body.read(1 << 20):
            found.update(piece)
            file.write(piece)
    assert found.hexdigest() == _SPARK_SHA256, "Spark's package is another one than it was"


def _extract(archive: Path, jars: Path) -> None:
    """What is needed, and nothing at all if it does not come to its end."""
    draft = Path(tempfile.mkdtemp(dir=jars.parent))
    with tarfile.open(archive) as package:
        for member in package:
            name = member.name.rpartition("/")[2]
            content = package.extractfile(member)
            if content is not None and any(fnmatch(name, f"{each}.jar") for each in _JARS):
                with content, (draft / name).open("wb") as file:
                    shutil.copyfileobj(content, file)
    draft.rename(jars)
    archive.unlink()


def _write(file: Path, settings: Mapping[str, str]) -> None:
    found = (f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items())
    file.write_text(f"<configuration>{''.join(found)}</configuration>")
