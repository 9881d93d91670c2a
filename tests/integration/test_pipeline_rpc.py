"""PipelineService over a socket: what it does, and each way in which it refuses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from paddleflow.pipeline.v1 import pipeline_pb2 as pb
from paddleflow.problems import (
    DocumentInvalid,
    DocumentUnreadable,
    EtagMismatch,
    FailedPrecondition,
    FilesystemNotFound,
    FilesystemNotGranted,
    InvalidArgument,
    PageTokenInvalid,
    PermissionDenied,
    PipelineExists,
    PipelineInUse,
    PipelineNotFound,
    PipelineVersionNotFound,
)
from pf_pipeline.pipelines.convert import EVENT
from support.callers import Caller
from support.fs_site import FsSite
from support.pipeline_site import PipelineSite, opened_pipeline_site

SOUP = """
name: soup
entry_points:
  peel: {command: peel, parameters: {what: carrots}}
  boil: {command: "boil {{what}}", deps: peel, parameters: {what: "{{peel.what}}"}}
"""
SAME_SOUP = """# the same, in other words
entry_points:
    boil:
        parameters: {what: '{{peel.what}}'}
        deps: "peel"
        command: "boil {{what}}"
    peel:
        command: peel
        parameters:
            what: carrots
name: "soup"
"""
HOT_SOUP = SOUP.replace("carrots", "chillies")
STORED = SOUP + "fs_options: {main_fs: {name: data}}\n"


@pytest.fixture
async def site(fs_site: FsSite) -> AsyncIterator[PipelineSite]:
    async with opened_pipeline_site(fs_site) as opened:
        yield opened


def creation(document: str = SOUP, **fields: Any) -> pb.CreatePipelineRequest:
    return pb.CreatePipelineRequest(source=pb.Source(document=document), pipeline=pb.Pipeline(**fields))


async def create(call: Caller, document: str = SOUP, **fields: Any) -> pb.Pipeline:
    made: pb.Pipeline = (await call(creation(document, **fields))).pipeline
    return made


async def update(call: Caller, id_: str, document: str, **fields: Any) -> pb.UpdatePipelineResponse:
    request = pb.UpdatePipelineRequest(id=id_, source=pb.Source(document=document), **fields)
    reply: pb.UpdatePipelineResponse = await call(request)
    return reply


async def test_a_document_is_kept_under_its_name(site: PipelineSite) -> None:
    call = site.caller("alice")
    made = await call(creation(description="warm"))
    pipeline, version = made.pipeline, made.version
    assert (pipeline.id, pipeline.name, pipeline.owner, pipeline.newest_version) == ("ppl-000001", "soup", "alice", 1)
    assert pipeline.description == "warm"
    assert pipeline.create_time == pipeline.update_time == version.create_time
    assert (version.number, version.document, version.author, len(version.digest)) == (1, SOUP, "alice", 64)
    assert (version.filesystem, version.path) == ("", "")
    assert (await call(pb.GetPipelineRequest(id=pipeline.id))).pipeline == pipeline
    assert (await call(pb.GetPipelineVersionRequest(pipeline_id=pipeline.id))).version == version
    assert (await call(pb.GetPipelineVersionRequest(pipeline_id=pipeline.id, number=1))).version == version
    with pytest.raises(PipelineExists, match="alice has a pipeline 'soup'"):
        await create(call)
    assert (await create(site.caller("bobby"))).id == "ppl-000002"


async def test_a_description_may_stand_in_the_document(site: PipelineSite) -> None:
    call = site.caller("alice")
    assert (await create(call, SOUP + "desc: from the document\n")).description == "from the document"
    with pytest.raises(InvalidArgument, match="at most 256"):
        await create(call, HOT_SOUP.replace("soup", "other") + f"desc: {'x' * 257}\n")
    with pytest.raises(InvalidArgument, match="at most 256"):
        await create(call, description="x" * 257)


async def test_versions_are_added_unless_the_document_means_the_same(site: PipelineSite) -> None:
    call = site.caller("alice")
    made = await create(call)
    same = await update(call, made.id, SAME_SOUP)
    assert (same.pipeline, same.version.number, same.version.document) == (made, 1, SOUP)
    hot = await update(call, made.id, HOT_SOUP)
    assert (hot.pipeline.newest_version, hot.version.number, hot.version.document) == (2, 2, HOT_SOUP)
    assert hot.pipeline.etag != made.etag
    assert (await update(call, made.id, SOUP)).version.number == 3
    digests = [each.digest for each in await call.all(pb.ListPipelineVersionsRequest(pipeline_id=made.id), "versions")]
    assert digests[0] == digests[2] != digests[1]
    with pytest.raises(InvalidArgument, match=r"'stew'.*'soup'"):
        await update(call, made.id, SOUP.replace("soup", "stew"))


async def test_a_description_is_changed_without_a_version(site: PipelineSite) -> None:
    call = site.caller("alice")
    made = await create(call, description="old")
    changed = await call(pb.UpdatePipelineRequest(id=made.id, description="new", etag=made.etag))
    assert (changed.pipeline.description, changed.version.number) == ("new", 1)
    assert (await update(call, made.id, HOT_SOUP)).pipeline.description == "new"
    with pytest.raises(EtagMismatch):
        await call(pb.UpdatePipelineRequest(id=made.id, description="", etag=made.etag))
    assert (await call(pb.UpdatePipelineRequest(id=made.id, description=""))).pipeline.description == ""


async def test_only_the_owner_and_root_see_and_change_it(site: PipelineSite) -> None:
    alice, bobby, root = (site.caller(name) for name in ("alice", "bobby", "root"))
    made = await create(alice)
    for request in (
        pb.GetPipelineRequest(id=made.id),
        pb.UpdatePipelineRequest(id=made.id, description="mine"),
        pb.UpdatePipelineRequest(id=made.id, source=pb.Source(document=HOT_SOUP)),
        pb.DeletePipelineRequest(id=made.id),
        pb.GetPipelineVersionRequest(pipeline_id=made.id),
        pb.ListPipelineVersionsRequest(pipeline_id=made.id),
        pb.DeletePipelineVersionRequest(pipeline_id=made.id, number=1),
        pb.ValidateDocumentRequest(source=pb.Source(pipeline_id=made.id)),
        pb.GetPipelineRequest(id="ppl-1"),
        pb.GetPipelineRequest(id="ppl-\u0661\u0661\u0661\u0661\u0661\u0661"),
    ):
        with pytest.raises(PipelineNotFound):
            await bobby(request)
    assert (await root(pb.GetPipelineRequest(id=made.id))).pipeline == made
    assert (await update(root, made.id, HOT_SOUP)).version.author == "root"
    with pytest.raises(PermissionDenied, match="only root"):
        await create(bobby, owner="alice")
    assert (await create(root, SOUP.replace("soup", "stew"), owner="alice")).owner == "alice"
    with pytest.raises(InvalidArgument, match="name of a user"):
        await create(root, owner="a b")


async def test_lists_show_what_the_caller_may_see(site: PipelineSite) -> None:
    alice, bobby, root = (site.caller(name) for name in ("alice", "bobby", "root"))
    for call, name in ((alice, "soup"), (bobby, "soup"), (alice, "stew")):
        await create(call, SOUP.replace("soup", name))

    async def listed(call: Caller, **fields: Any) -> list[str]:
        return [each.id[-1] for each in await call.all(pb.ListPipelinesRequest(**fields), "pipelines")]

    assert await listed(root) == await listed(root, page_size=1) == ["3", "2", "1"]
    assert await listed(alice) == ["3", "1"]
    assert await listed(alice, names=["soup"]) == ["1"]
    assert await listed(alice, owners=["bobby"]) == []
    assert await listed(root, owners=["bobby"]) == ["2"]
    first = await root(pb.ListPipelinesRequest(page_size=1))
    with pytest.raises(PageTokenInvalid):
        await root(pb.ListPipelinesRequest(names=["x"], page_token=first.next_page_token))
    for wrong in ({"page_size": -1}, {"names": ["\0"]}, {"owners": ["x" * 200]}):
        with pytest.raises(InvalidArgument):
            await listed(root, **wrong)


async def test_what_schedules_use_stays(site: PipelineSite) -> None:
    call = site.caller("alice")
    made = await create(call)
    await update(call, made.id, HOT_SOUP)
    site.schedules.using = {(made.id, 0): ("noon", "dusk"), (made.id, 1): ("noon",)}
    with pytest.raises(PipelineInUse, match="used by noon, dusk"):
        await call(pb.DeletePipelineRequest(id=made.id))
    with pytest.raises(PipelineInUse, match=r"version 1 of ppl-000001 is used by noon;"):
        await call(pb.DeletePipelineVersionRequest(pipeline_id=made.id, number=1))
    await call(pb.DeletePipelineVersionRequest(pipeline_id=made.id, number=2))
    site.schedules.using = {}
    with pytest.raises(EtagMismatch):
        await call(pb.DeletePipelineRequest(id=made.id, etag=made.etag))
    request = pb.DeletePipelineRequest(id=made.id, request_id="once")
    assert await call(request) == await call(request)
    with pytest.raises(PipelineNotFound):
        await call(pb.GetPipelineRequest(id=made.id))


async def test_numbers_of_versions_are_not_given_again(site: PipelineSite) -> None:
    call = site.caller("alice")
    made = await create(call)
    with pytest.raises(PipelineInUse, match="the only one"):
        await call(pb.DeletePipelineVersionRequest(pipeline_id=made.id, number=1))
    await update(call, made.id, HOT_SOUP)
    await call(pb.DeletePipelineVersionRequest(pipeline_id=made.id, number=2))
    assert (await call(pb.GetPipelineRequest(id=made.id))).pipeline.newest_version == 1
    with pytest.raises(PipelineVersionNotFound, match="no version 2; the newest is 1"):
        await call(pb.GetPipelineVersionRequest(pipeline_id=made.id, number=2))
    assert (await update(call, made.id, HOT_SOUP)).version.number == 3


async def test_a_retry_gets_the_same_reply(site: PipelineSite) -> None:
    call = site.caller("alice")
    request = creation()
    request.request_id = "once"
    assert await call(request) == await call(request)
    made = await call.all(pb.ListPipelinesRequest(), "pipelines")
    change = pb.UpdatePipelineRequest(id=made[0].id, source=pb.Source(document=HOT_SOUP), request_id="twice")
    assert await call(change) == await call(change)
    assert len(await call.all(pb.ListPipelineVersionsRequest(pipeline_id=made[0].id), "versions")) == 2


async def test_changes_are_told_in_order(site: PipelineSite) -> None:
    call = site.caller("alice")
    made = await create(call)
    await update(call, made.id, HOT_SOUP)
    await call(pb.DeletePipelineRequest(id=made.id))
    log = site.database.log
    facts = [event.fact for event in await log.events_after(await log.floor(), 10)]
    assert {fact.type for fact in facts} == {EVENT}
    assert [fact.subject for fact in facts] == [f"pipeline/{made.id}"] * 3
    assert sorted({fact.version for fact in facts}) == [fact.version for fact in facts]
    told = [pb.PipelineEvent.FromString(fact.payload) for fact in facts]
    assert [event.pipeline.newest_version for event in told] == [1, 2, 2]


async def test_a_document_is_read_from_a_filesystem(site: PipelineSite) -> None:
    alice, call = await site.member("alice")
    folder = alice.folder / "data"
    (folder / "run.yaml").write_text(STORED)
    (folder / "more").mkdir()
    (folder / "more" / "long.yaml").write_text(STORED.replace("soup", "long") + "# " + "x" * 3_000_000)
    made = await call(pb.CreatePipelineRequest(source=pb.Source(filesystem="data")))
    assert (made.version.filesystem, made.version.path) == ("data", "./run.yaml")
    assert made.version.document == STORED
    source = pb.Source(filesystem=f"{alice.name}/data", path="more/long.yaml")
    assert (await call(pb.CreatePipelineRequest(source=source))).pipeline.name == "long"
    copied = pb.Source(pipeline_id=made.pipeline.id, pipeline_version=1, path="ignored")
    assert not (await call(pb.ValidateDocumentRequest(source=copied, pipeline_only=True))).problems


async def test_why_a_file_cannot_be_read_is_told(site: PipelineSite) -> None:
    alice, call = await site.member("alice")
    folder = alice.folder / "data"
    (folder / "binary").write_bytes(b"name: \xff")
    (folder / "large").write_bytes(b"#" * (4 * 2**20 + 1))
    (folder / "out").symlink_to("/etc/passwd")
    for path, why in {
        "": "run.yaml",
        "binary": "no text in UTF-8: see byte 6",
        "large": "at most 4128768",
        "out": "out",
        ".": "cannot be read",
    }.items():
        with pytest.raises(DocumentUnreadable, match=why):
            await call(pb.CreatePipelineRequest(source=pb.Source(filesystem="data", path=path)))
    with pytest.raises(InvalidArgument, match="name the filesystem"):
        await call(pb.CreatePipelineRequest(source=pb.Source(path="run.yaml")))
    with pytest.raises(FilesystemNotFound):
        await call(pb.CreatePipelineRequest(source=pb.Source(filesystem="none")))
    _, bobby = await site.member("bobby")
    with pytest.raises(FilesystemNotGranted):
        await bobby(pb.CreatePipelineRequest(source=pb.Source(filesystem=f"{alice.name}/data")))


async def test_the_main_filesystem_must_be_there_and_others_need_not(site: PipelineSite) -> None:
    _, call = await site.member("alice")
    extra = STORED.replace("main_fs: {name: data}", "main_fs: {name: data}, extra_fs: [{name: cellar}]")
    assert (await create(call, extra)).name == "soup"
    with pytest.raises(FilesystemNotFound, match="attic"):
        await create(call, STORED.replace("soup", "stew").replace("data", "attic"))


async def test_the_filesystem_of_the_source_is_not_supplied_to_the_document(site: PipelineSite) -> None:
    alice, call = await site.member("alice")
    artifact = SOUP.replace("command: peel,", "command: peel, artifacts: {output: [peels]},")
    (alice.folder / "data" / "run.yaml").write_text(artifact)
    with pytest.raises(DocumentInvalid, match="need a main filesystem"):
        await call(pb.CreatePipelineRequest(source=pb.Source(filesystem="data")))
    source = pb.Source(filesystem="data")
    assert not (await call(pb.ValidateDocumentRequest(source=source))).problems
    (problem,) = (await call(pb.ValidateDocumentRequest(source=source, pipeline_only=True))).problems
    assert "main filesystem" in problem.message


async def test_all_that_is_wrong_is_told_with_its_place(site: PipelineSite) -> None:
    _, call = await site.member("alice")
    wrong = """name: soup
entry_points:
  boil:
    comand: boil
    deps: peel
    extra_fs: [{name: cellar}]
  stir: {command: "stir {{spoon}}", extra_fs: [{name: data}, {name: attic}]}
"""
    request = pb.ValidateDocumentRequest(source=pb.Source(document=wrong))
    found = (await call(request)).problems
    places = {problem.path: problem.line for problem in found}
    assert places["entry_points.boil.comand"] == 4
    assert places["entry_points.boil.deps"] == 5
    assert places["entry_points.boil.extra_fs[0].name"] == 6
    assert places["entry_points.stir.command"] == 7
    assert places["entry_points.stir.extra_fs[1].name"] == 7
    assert "entry_points.stir.extra_fs[0].name" not in places
    assert [problem.line for problem in found] == sorted(problem.line for problem in found)
    request.pipeline_only = True
    assert not [each for each in (await call(request)).problems if "extra_fs" in each.path]
    with pytest.raises(DocumentInvalid) as refused:
        await create(call, wrong)
    assert {"entry_points.boil.comand", "entry_points.stir.command"} <= {
        violation.field for violation in refused.value.violations
    }
    request.source.document = "a: }"
    (nothing,) = (await call(request)).problems
    assert nothing.line == 1


async def test_a_document_is_drawn(site: PipelineSite) -> None:
    call = site.caller("alice")
    picture = (await call(pb.DrawDocumentRequest(source=pb.Source(document=SOUP)))).drawing
    assert picture.startswith("<svg")
    request = pb.DrawDocumentRequest(source=pb.Source(document=SOUP), form=pb.DRAWING_FORM_MERMAID)
    assert "n1 --> n2" in (await call(request)).drawing
    with pytest.raises(DocumentInvalid):
        await call(pb.DrawDocumentRequest(source=pb.Source(document="name: x")))
    request.form = 9  # type: ignore[assignment]  # a form that a newer client may know
    with pytest.raises(InvalidArgument):
        await call(request)


async def test_what_no_message_holds_is_refused_in_words(site: PipelineSite) -> None:
    # Each tab becomes two letters there.
    tabs = "\t" * 2_500_000
    document = f"name: long\nentry_points: {{a: {{command: 'x{tabs}x'}}}}\n"
    request = pb.ExportDocumentRequest(source=pb.Source(document=document), target=pb.EXPORT_TARGET_ARGO)
    with pytest.raises(FailedPrecondition, match="a message holds 4128768"):
        await site.caller("alice")(request)
    with pytest.raises(InvalidArgument, match="at most 4128768 bytes"):
        await create(site.caller("alice"), SOUP + "#" * 4_128_768)


async def test_a_document_is_written_for_other_systems(site: PipelineSite) -> None:
    call = site.caller("alice")
    request = pb.ExportDocumentRequest(source=pb.Source(document=SOUP), target=pb.EXPORT_TARGET_ARGO)
    request.parameters["peel.what"].string_value = "onions"
    reply = await call(request)
    assert reply.file_name == "soup.yaml"
    assert "onions" in reply.text
    request.target = pb.EXPORT_TARGET_AIRFLOW
    assert (await call(request)).file_name == "soup.py"
    request.target = pb.EXPORT_TARGET_UNSPECIFIED
    with pytest.raises(InvalidArgument, match="ARGO or AIRFLOW"):
        await call(request)
