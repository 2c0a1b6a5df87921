"""The rows of the table for what readers of ZIP files understand in different ways."""

from __future__ import annotations

from ozx.validation.rule import Rule

__all__ = ["AMBIGUITY_RULES"]

_APPNOTE = "APPNOTE.TXT"
_APPNOTE_REVISION = "6.3.10"
_READERS = "Limits of today's readers"
_READERS_REVISION = "as of 2026-11"

_DISTRUST = "Do not trust the file; get it again from where it was made."
_REPACK = "`ozx repack FILE OUT.ozx` writes the entries again, in a form that all of them read."

AMBIGUITY_RULES = (
    Rule(
        id="zip/unicode-path",
        severity="error",
        title="An entry has two names",
        clause="4.6.9: a Unicode Path field (0x7075) gives the name of an entry in UTF-8. A name in ASCII, or declared "
        "to be UTF-8 (4.4.4, bit 11), says itself what it is, so that a field beside it has to say the same.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="unzip, 7-Zip and bsdtar take the name from the field, zipfile and Java the other one. The value of "
        "one chunk can hide behind the name of another.",
        repair=_DISTRUST,
    ),
    Rule(
        id="zip/extra-block",
        severity="error",
        title="Extra fields cannot be taken apart",
        clause="4.5.1: an extra-field block consists of fields, each with its id, its length and so many bytes. A "
        "field of times (0x5455) has at least 1 byte, one of AES (0x9901) at least 6.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="zipfile and Java refuse the file if such a block stands in the central directory, bsdtar in any "
        "header; unzip and 7-Zip read it.",
        repair=_REPACK,
    ),
    Rule(
        id="zip/attributes",
        severity="error",
        title="Attributes call a value a folder or a volume label",
        clause="4.4.15: the external attributes of DOS and of Unix can make an entry a folder, those of DOS a volume "
        "label. 4.3.8: an entry that is a folder has a name that ends in a slash.",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="7-Zip and bsdtar make a folder of the value, and unzip leaves a volume label out. zipfile and Java "
        "read the value.",
        repair="Get the file again from where it was made, or unpack it and pack the folder with `ozx pack`.",
    ),
    Rule(
        id="zip/flags",
        severity="warning",
        title="An entry has flags that mean nothing",
        clause="4.4.4: bits 4, 7 to 10 and 12 to 15 are unused, reserved, or belong to encryption (a warning). Bit 5 "
        "says that the value is patch data (an error).",
        document=_APPNOTE,
        revision=_APPNOTE_REVISION,
        meaning="No reader knows what they ask for. zipfile refuses an entry with bit 5; the others read all of them.",
        repair=_REPACK,
    ),
    Rule(
        id="zip/version-needed",
        severity="error",
        title="Entries ask for a newer reader than there is",
        clause="4.4.3: the version of APPNOTE that a reader has to know. Stored and deflated entries need 2.0, with "
        "ZIP64 4.5.",
        document=_READERS,
        revision=_READERS_REVISION,
        meaning="unzip 6.00 leaves out what needs more than 4.6; zipfile refuses a file that has an entry which needs "
        "more than 6.3.",
        repair=_REPACK,
    ),
    Rule(
        id="zip/leading-entries",
        severity="error",
        title="The file begins with entries that the directory does not list",
        clause="4.3.6: the file begins with the first entry. Another one may have been deleted there, or the archive "
        "appended to another one. Where the offsets leave these bytes out, the archive may be the value of an entry of "
        "a file whose end is lost: then nothing reads it.",
        document=_READERS,
        revision=_READERS_REVISION,
        meaning="7-Zip reads a file from its beginning, so that it shows the first archive of two, deleted entries, or "
        "a part of the entries.",
        repair="If you trust its origin: `ozx repack FILE OUT.ozx` keeps what the last central directory lists; where "
        "nothing reads the file, `ozx recover` saves what is whole.",
    ),
    Rule(
        id="zip/bytes-after-directory",
        severity="error",
        title="There are bytes between the central directory and its end record",
        clause="4.3.6 and 4.3.13: the end record follows the central directory; only a digital signature of the "
        "directory may stand between them, which readers do not know either.",
        document=_READERS,
        revision=_READERS_REVISION,
        meaning="zipfile, bsdtar and Java look for the directory right before its end record, and refuse the file. "
        "unzip and 7-Zip read it and complain.",
        repair=_REPACK,
    ),
)
