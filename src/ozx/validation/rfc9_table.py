"""The rows of the table for OME-Zarr in a ZIP file (RFC-9)."""

from __future__ import annotations

from ozx.validation.rule import Rule

__all__ = ["RFC9_RULES"]

_RFC9 = "RFC-9"
_R2 = "R2 (2026-04-20)"

_REPACK = "`ozx repack FILE OUT.ozx` repairs it, and copies the values as they are."

RFC9_RULES = (
    Rule(
        id="rfc9/root",
        severity="error",
        title="There is no zarr.json at the root",
        clause="The root of the ZIP file has to be the root of the hierarchy, and has to hold its `zarr.json`. Of an "
        "OME-Zarr 0.4 hierarchy in a directory, to which RFC-9 does not apply, this is a note.",
        document=_RFC9,
        revision=_R2,
        meaning="Readers open the root first. OME-Zarr 0.4 (Zarr v2) has no `zarr.json`: RFC-9 begins with OME-Zarr "
        "0.5.",
        repair="`ozx repack FILE OUT.ozx` finds the root in a folder; or pack the folder that holds its `zarr.json`.",
    ),
    Rule(
        id="rfc9/one-hierarchy",
        severity="error",
        title="It is not exactly one OME-Zarr hierarchy",
        clause="A ZIP file has to contain exactly one OME-Zarr hierarchy. The text does not say how to tell; ozx "
        "asks that the root is a Zarr v3 group with `attributes.ome.version`, that every node is reached from it "
        "through the `zarr.json` of all its parents (Zarr core 3.1 has no implicit groups), that there is no Zarr "
        "v2 metadata, and that no node declares another OME-Zarr version. Folders of plain files are fine.",
        document=_RFC9,
        revision=_R2,
        meaning="Zarr libraries hide what the root does not reach. An array or a group without `ome` is Zarr in a "
        "ZIP file, but no OME-Zarr.",
        repair="Write the missing `zarr.json`, or take out what does not belong to the hierarchy. `ozx repack` "
        "writes missing groups.",
    ),
    Rule(
        id="rfc9/not-embedded",
        severity="error",
        title="An archive lies inside a hierarchy",
        clause="An OME-Zarr zip file must not be embedded in another hierarchy, be that in a directory or in a ZIP "
        "file. ozx goes by the name (`.ozx`, `.zip`) and by the content (begins with a local header, ends in an end "
        "record). For a directory that is part of a larger hierarchy this is a note.",
        document=_RFC9,
        revision=_R2,
        meaning="No reader looks into an archive inside an archive.",
        repair="Move the file out of the hierarchy.",
    ),
    Rule(
        id="rfc9/not-split",
        severity="error",
        title="The file is one part of several",
        clause="OME-Zarr zip files must not be split into parts.",
        document=_RFC9,
        revision=_R2,
        meaning="A part alone holds only some of the entries.",
        repair="Join the parts with the program that split them (`zip -s 0`), then try again.",
    ),
    Rule(
        id="rfc9/zip64",
        severity="warning",
        title="ZIP64 is not used",
        clause="The ZIP64 extension should be used, whatever the size of the file. Any ZIP64 structure counts; one "
        "without the ZIP64 end record is worth a note.",
        document=_RFC9,
        revision=_R2,
        meaning="The file cannot grow beyond 4 GiB or 65,535 entries without a change of form.",
        repair=_REPACK,
    ),
    Rule(
        id="rfc9/stored",
        severity="warning",
        title="Entries are compressed by ZIP",
        clause="ZIP-level compression should be off, in favour of Zarr's codecs. In the profile strict this is an "
        "error.",
        document=_RFC9,
        revision=_R2,
        meaning="A part of an entry, such as one chunk of a shard, cannot be read without inflating all before it, "
        "and chunks are compressed already.",
        repair=_REPACK,
    ),
    Rule(
        id="rfc9/sharding",
        severity="warning",
        title="Arrays of several chunks are not sharded",
        clause="The sharding codec should be used to reduce the number of entries. ozx takes this for a warning "
        "from 1,000 entries of such arrays on, and for a note below; an array of one chunk needs none.",
        document=_RFC9,
        revision=_R2,
        meaning="Every chunk is an entry of the central directory, which readers load before anything else.",
        repair="`ozx repack --shards auto` puts chunks into shards without compressing anything anew. It keeps "
        "times and channels apart; with `--shards c=2,y=4096,x=4096`, say, they share shards.",
    ),
    Rule(
        id="rfc9/root-first",
        severity="warning",
        title="The root's zarr.json does not come first",
        clause="The root's `zarr.json` should be the first entry, in the file and in the central directory.",
        document=_RFC9,
        revision=_R2,
        meaning="A reader has to go through the whole directory to learn what the file holds.",
        repair=_REPACK,
    ),
    Rule(
        id="rfc9/breadth-first",
        severity="warning",
        title="The zarr.json do not come first, or not breadth-first",
        clause="All other `zarr.json` should follow right after the root's, in breadth-first order, in the file and "
        "in the central directory. The order among siblings is free.",
        document=_RFC9,
        revision=_R2,
        meaning="Discovering the hierarchy takes many small reads instead of one.",
        repair=_REPACK,
    ),
    Rule(
        id="rfc9/file-name",
        severity="warning",
        title="The name does not end in .ozx",
        clause="The name of an OME-Zarr zip file should end in `.ozx`.",
        document=_RFC9,
        revision=_R2,
        meaning="Programs and file managers know an OME-Zarr file by this ending.",
        repair="Rename the file.",
    ),
    Rule(
        id="rfc9/comment",
        severity="warning",
        title="The archive comment is missing or is not what RFC-9 asks for",
        clause="The archive comment should be a JSON object in UTF-8, at least with `ome.version` as a string. In "
        "the profile strict, comments that hold anything else are an error.",
        document=_RFC9,
        revision=_R2,
        meaning="The comment tells a reader from the file's last bytes that this is OME-Zarr, and of which version.",
        repair=_REPACK,
    ),
    Rule(
        id="rfc9/comment-version",
        severity="warning",
        title="The comment names another version than the root",
        clause="`ome.version` in the archive comment is the OME-Zarr version of the hierarchy. The text does not "
        "say what holds where they differ; for ozx the hierarchy does.",
        document=_RFC9,
        revision=_R2,
        meaning="A reader that goes by the comment expects other metadata than there are.",
        repair=_REPACK,
    ),
    Rule(
        id="rfc9/comment-nul",
        severity="warning",
        title="The archive comment ends in NUL",
        clause="The comment is a JSON object in UTF-8. Drafts of 2025 asked for a NUL after it; the text no longer "
        "does.",
        document=_RFC9,
        revision=_R2,
        meaning="Strict JSON parsers refuse the comment.",
        repair=_REPACK,
    ),
    Rule(
        id="rfc9/json-first",
        severity="error",
        title="jsonFirst is claimed, but not true",
        clause="`ome.zipFile.centralDirectory.jsonFirst` allows a reader to stop at the first entry of the central "
        "directory that is no `zarr.json`.",
        document=_RFC9,
        revision=_R2,
        meaning="Readers that rely on it do not see the nodes whose `zarr.json` come later.",
        repair=_REPACK,
    ),
)
