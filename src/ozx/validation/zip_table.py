"""The rows of the table for ZIP: APPNOTE, safety, and the limits of today's readers."""

from __future__ import annotations

from ozx.validation.rule import Rule

__all__ = ["ZIP_RULES"]

_APPNOTE = "APPNOTE.TXT"
_APPNOTE_REVISION = "6.3.10"
# Where no document speaks, and a reader has to decide.
_OZX = "ozx, where the documents are silent"
_OZX_REVISION = "0.1"
_READERS = "Limits of today's readers"
_READERS_REVISION = "as of 2026-09"

_COPY_AGAIN = "Copy or download the file again; if it is the only copy, `ozx recover FILE OUT.ozx` saves what is whole."
_REPACK = "`ozx repack FILE OUT.ozx` repairs it, and copies the values as they are."

ZIP_RULES = (
    Rule(
        id="zip/not-a-zip",
        severity="error",
        title="The file is no ZIP file",
        clause="4.3.1: a ZIP file has to contain an end of central directory record.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="Neither the first nor the last bytes are those of a ZIP file. It is another format, or empty.",
        repair="Check that this is the right file.",
    ),
    Rule(
        id="zip/truncated",
        severity="error",
        title="The file ends too early",
        clause="4.3.6 and 4.3.16: after the entries come the central directory and, last, the end record.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="It begins like a ZIP file, but its end is missing, as after a copy or download that was interrupted.",
        repair=_COPY_AGAIN,
    ),
    Rule(
        id="zip/end-record",
        severity="error",
        title="The end records contradict each other",
        clause="4.3.14 to 4.3.16 and 4.4.1.4: one end record; with ZIP64 a second one of 56 bytes, which the locator "
        "points to and which agrees with every field of the first that is no placeholder. The archive comment does not "
        "hold the signature of another one.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="Two readers would find two different central directories, that is two different sets of entries; or "
        "one finds a directory, and the other none.",
        repair="Do not trust the file; get it again from where it was made.",
    ),
    Rule(
        id="zip/directory",
        severity="error",
        title="The central directory is damaged",
        clause="4.3.12 and 4.3.16: as many headers as the end record says, one right after the other, within the "
        "bytes that it says.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="The list of the entries cannot be read, so that no entry can be found.",
        repair=_COPY_AGAIN,
    ),
    Rule(
        id="zip/zip64-field",
        severity="error",
        title="A 64-bit size or offset is missing, or contradicts the header",
        clause="4.5.3: a size or offset of 0xFFFFFFFF has its true value in the ZIP64 extra field of the same header, "
        "and no other one stands there. One that does, and says the same, is let pass.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="The place or the size of an entry is unknown, or not the same to all readers. The writer did not "
        "handle ZIP64, or wants to mislead.",
        repair="Write the file again with a program that knows ZIP64, such as `ozx pack`.",
    ),
    Rule(
        id="zip/bounds",
        severity="error",
        title="An entry would lie outside the file",
        clause="4.3.6: the entries stand before the central directory, so that offset plus size never goes beyond it.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="The offset or the size that the central directory declares is wrong, or bytes are missing before it.",
        repair=_COPY_AGAIN,
    ),
    Rule(
        id="zip/encrypted",
        severity="error",
        title="An entry is encrypted",
        clause="4.4.4, bits 0 and 6: the entry is encrypted. No OME-Zarr reader asks for a password.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="The image cannot be read.",
        repair="Unpack it with the password in the program that wrote it, then run `ozx pack` on the folder.",
    ),
    Rule(
        id="zip/method",
        severity="error",
        title="An entry is compressed by a method that readers do not know",
        clause="4.4.5: a method other than stored (0), deflate (8) and Deflate64 (9). RFC-9 recommends to store.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="Most programs, this one included, cannot read the entry.",
        repair="Unpack it with the program that wrote it, then run `ozx pack` on the folder.",
    ),
    Rule(
        id="zip/overlap",
        severity="error",
        title="Entries overlap",
        clause="4.3.6: local header, value and data descriptor of an entry stand before those of the next.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="Bytes belong to two entries at once, as in a decompression bomb or a damaged file.",
        repair="Do not trust the file; get it again from where it was made.",
    ),
    Rule(
        id="zip/local-header",
        severity="error",
        title="A local header or data descriptor is missing or contradicts the directory",
        clause="4.3.2, 4.3.9 and 4.4.4: each entry has a local header, with a corresponding header in the central "
        "directory that has the same flags, and, where bit 3 announces it, a data descriptor with its CRC-32 and "
        "sizes. A warning where the two headers disagree on bit 3 alone.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="Readers that trust the one see another name, size or method than readers that trust the other.",
        repair="Do not trust the file; get it again from where it was made.",
    ),
    Rule(
        id="zip/name",
        severity="error",
        title="An entry has a name that no store key may have",
        clause="4.4.17.1: no drive letter, no leading slash, forward slashes only. Beyond that ozx refuses names "
        "that are empty, no UTF-8, have an empty, '.' or '..' component, a backslash or a NUL, or end in a slash "
        "though the entry has bytes.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="Unpacking could write outside the folder, or programs would take the name for different files.",
        repair="`ozx repack FILE OUT.ozx` repairs backslashes; change other names in the source and pack it again.",
    ),
    Rule(
        id="zip/duplicate-name",
        severity="error",
        title="Several entries have the same name",
        clause="APPNOTE does not say which counts; readers differ. RFC-9 maps entries to store keys, which are unique.",
        document=_OZX,
        revision=_OZX_REVISION,
        meaning="Some programs see the first value, others the last. Writers leave them when they rewrite metadata "
        "or shards in a file that is open.",
        repair="`ozx repack FILE OUT.ozx` keeps the last one, which writers mean, and names what it leaves out.",
    ),
    Rule(
        id="zip/value-and-folder",
        severity="warning",
        title="A name is that of a value and of a folder",
        clause="Neither APPNOTE nor Zarr core forbids entries called `a` and `a/b`; no directory can have both.",
        document=_OZX,
        revision=_OZX_REVISION,
        meaning="Readers of OME-Zarr find both. Programs that unpack the file fail, `ozx unpack` too, or lose one.",
        repair="Give one of them another name where the hierarchy was made, and pack that anew.",
    ),
    Rule(
        id="zip/stored-size",
        severity="error",
        title="A stored entry has two sizes",
        clause="4.4.8 and 4.4.9: the compressed and the uncompressed size, which are the same where nothing is "
        "compressed.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="Readers take different numbers of bytes for the value.",
        repair=_COPY_AGAIN,
    ),
    Rule(
        id="zip/bomb",
        severity="error",
        title="Entries would inflate beyond all measure",
        clause="An entry above 64 MiB that inflates more than 200 : 1, or entries that inflate to more than 1 TiB "
        "in all, are refused unless asked for. Chunks are compressed already, so that honest files stay near 1 : 1.",
        document=_OZX,
        revision=_OZX_REVISION,
        meaning="A small file would fill memory or disk.",
        repair="If you trust its origin: `ozx unpack --allow-bombs`, then `ozx pack` on the folder.",
    ),
    Rule(
        id="zip/prepended-bytes",
        severity="error",
        title="There are bytes before the archive",
        clause="4.1.9 allows self-extracting files, which begin with a program; an image is none. A ZIP file that "
        "begins with its first entry is known by its first bytes. A warning where the archive has no entries.",
        document=_OZX,
        revision=_OZX_REVISION,
        meaning="Many readers find no entry, because all offsets are wrong by the length of these bytes.",
        repair=_REPACK,
    ),
    Rule(
        id="zip/trailing-bytes",
        severity="error",
        title="There are bytes after the archive",
        clause="4.3.6 and 4.3.16: the end record with the archive comment is the last thing in the file.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="Several readers refuse the file, as they look for the end record from the file's end.",
        repair=_REPACK,
    ),
    Rule(
        id="zip/symlink",
        severity="error",
        title="An entry is a symbolic link",
        clause="4.4.15: the external attributes can make an entry a symbolic link; a store key has a value, and no "
        "type. Programs believe it of entries from many systems, not from Unix alone.",
        document=_OZX,
        revision=_OZX_REVISION,
        meaning="Zarr readers see the path it points to as its value; unpacking programs make a link.",
        repair="Put the file itself in its place and pack the folder with `ozx pack`, which follows links.",
    ),
    Rule(
        id="zip/special-file",
        severity="error",
        title="There is something that is neither a file nor a folder",
        clause="4.4.15: the external attributes can make an entry a device, pipe or socket; a store key has a "
        "value. In a directory, links that lead out of it or in circles have none either.",
        document=_OZX,
        revision=_OZX_REVISION,
        meaning="It has no bytes that could be the value of a key.",
        repair="Remove it, or put a file in its place, and pack the folder anew.",
    ),
    Rule(
        id="zip/directory-entry",
        severity="note",
        title="There are entries for folders",
        clause="4.3.8: an entry without bytes whose name ends in a slash stands for a folder.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="They are no store keys and take up room in the directory. Readers ignore them.",
        repair="Nothing has to be done; `ozx repack` leaves them out.",
    ),
    Rule(
        id="zip/name-encoding",
        severity="error",
        title="Names are not declared to be UTF-8",
        clause="4.4.4, bit 11, and appendix D: without it a name is in code page 437. Zarr keys are Unicode.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="Programs show and find the entry under different names: zipfile takes the bytes for code page 437, "
        "bsdtar and 7-Zip for UTF-8 where they can be.",
        repair=_REPACK,
    ),
    Rule(
        id="zip/unreferenced-bytes",
        severity="note",
        title="There are bytes that nothing refers to",
        clause="4.3.6: entries follow one another; bytes between them are reachable by no entry of the central "
        "directory.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="Entries were deleted or replaced in place, and the old bytes are still in the file. They take up "
        "room, and may hold what was meant to be deleted.",
        repair="`ozx repack FILE OUT.ozx` leaves them out.",
    ),
    Rule(
        id="zip/extra-field",
        severity="error",
        title="There are extra fields other than ZIP64 and padding (profile strict only)",
        clause="Only the profile strict, as asked for in review 3: no extra fields with data that is not Zarr's. "
        "ZIP64 (0x0001) and padding (0xD935) are allowed.",
        document="RFC-9, review 3",
        revision="2026-01-30",
        meaning="Times, owners and permissions have no meaning in a store, make files bigger and differ between runs.",
        repair=_REPACK,
    ),
    Rule(
        id="zip/large-entry",
        severity="warning",
        title="Entries are larger than 2 GiB",
        clause="tensorstore 0.1.86 leaves larger entries out without a word; Java programs cannot hold them.",
        document=_READERS,
        revision=_READERS_REVISION,
        meaning="Parts of the image look empty, or cannot be opened, in some programs.",
        repair="`ozx repack FILE OUT.ozx` with smaller `--shards` divides it without decoding a chunk.",
    ),
    Rule(
        id="zip/many-entries",
        severity="warning",
        title="There are very many entries",
        clause="neuroglancer fails at 262,144 entries (a warning from there on); from 65,535 on a ZIP file without "
        "ZIP64 is impossible, and some readers know no ZIP64 (a note).",
        document=_READERS,
        revision=_READERS_REVISION,
        meaning="Every reader loads the list of all entries before it shows the first pixel.",
        repair="`ozx repack --shards auto` puts many chunks into one entry, without compressing anything anew.",
    ),
    Rule(
        id="zip/long-comment",
        severity="warning",
        title="The archive comment is longer than 4,096 bytes",
        clause="neuroglancer and tensorstore look for the end record in the last 4,096 bytes when they guess a "
        "file's format.",
        document=_READERS,
        revision=_READERS_REVISION,
        meaning="They do not notice that the file is a ZIP file.",
        repair="Keep the comment to the JSON object that RFC-9 asks for; content belongs into the hierarchy.",
    ),
    Rule(
        id="zip/crc",
        severity="error",
        title="The bytes of an entry are damaged",
        clause="4.4.7: the CRC-32 of the value.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="The value is not the one that was written. `ozx validate` reads and checks all metadata; `ozx "
        "unpack` and `ozx cat` check every value that they read.",
        repair=_COPY_AGAIN,
    ),
    Rule(
        id="zip/inflate",
        severity="error",
        title="Compressed bytes cannot be inflated",
        clause="4.4.5, 4.4.8 and 4.4.9: inflating takes exactly as many bytes as the header declares, and gives "
        "exactly as many.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="The value is damaged or cut off, or other bytes follow it inside its declared size: bsdtar gives "
        "zeros for such a value.",
        repair=_COPY_AGAIN,
    ),
    Rule(
        id="zip/changed",
        severity="error",
        title="The file changed while it was read",
        clause="A file whose size or time of modification changes meanwhile is not judged.",
        document=_OZX,
        revision=_OZX_REVISION,
        meaning="Parts of what was read belong to the old file, others to the new one.",
        repair="Wait until whatever writes to it has finished, then try again.",
    ),
)
