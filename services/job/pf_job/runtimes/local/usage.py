"""What replicas were seen to use, read where it lies. For threads: the calls wait for the disk."""

from __future__ import annotations

from pathlib import Path

from paddleflow.problems import NotFound
from pf_job.runtimes.local import layout, records, samples
from pf_job.runtimes.local.records import Book, Ending
from pf_job.runtimes.port import Sample, Usage

NETWORK = "networks are not measured: replicas share those of their machine"
ACCELERATORS = "accelerators are not measured: libnvidia-ml.so.1 is not there, or does not tell"


def read(folder: Path) -> Usage:
    """Raises NotFound."""
    try:
        book = records.read((folder / layout.RECORD).read_bytes())
    except FileNotFoundError:
        book = Book()
    if book.process is None or not (folder / layout.LOG).exists():
        raise NotFound(f"nothing is known of what {folder.name} used")
    begun, ended = Sample(time=book.process.started, cpu=0, read=0, written=0), book.ending
    seen = [_sample(each) for each in _recorded(folder) if ended is None or each.time < ended.ended]
    has_accelerators = book.record is not None and bool(book.record.accelerators)
    notes = (ACCELERATORS,) if has_accelerators and all(each.accelerator is None for each in seen) else ()
    return Usage([begun, *seen, *([] if ended is None else [_end(ended)])], (NETWORK, *notes))


def _recorded(folder: Path) -> list[samples.Sample]:
    try:
        return samples.decode((folder / layout.USAGE).read_bytes())
    except FileNotFoundError:
        return []


def _sample(seen: samples.Sample) -> Sample:
    known = {name: value for name, value in seen._asdict().items() if value != samples.UNKNOWN}
    return Sample(**known)


def _end(ending: Ending) -> Sample:
    return Sample(time=ending.ended, cpu=ending.cpu, peak=ending.peak, read=ending.read, written=ending.written)
