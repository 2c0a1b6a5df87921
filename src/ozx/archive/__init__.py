"""The ZIP file as bytes: reading and writing archives. Knows no Zarr and no JSON.

From the bytes upwards:

``records``
    One layout per record of APPNOTE.TXT: local file header, central directory header, end records, extra fields.
``positional_reading``, ``positional_writing``
    The only places that use POSIX-only calls; each has a portable fallback beside it.
``byte_source``
    ``read_at(offset, length)`` over a file or over memory.
``remote``, ``remote_errors``, ``remote_helper``
    The same behind a URL, by obstore; its errors in words without secrets; its requests from a forked process.
``remote_reading``
    One entry from a source that is slow to ask, by as few requests as can be.
``names``
    Decoding entry names, and which of them are refused.
``directory``
    The end records and the central directory: found, checked, and read entry by entry.
``columns``, ``name_table``, ``name_index``
    The central directory as arrays: a million entries open fast and small; a key is found by its hash.
``crc32``, ``inflate``
    Checksums and their combination; deflate and Deflate64.
``entry_reading``
    One entry's value, given its header in the central directory; needs no numpy.
``empty_values``, ``inner_archives``, ``repeated_names``
    What passes for right, and is refused: values that lost their sizes, archives in values, names in two orders.
``reader``, ``writer``
    Entries out of an archive, entries into an archive.
``audit``, ``local_headers``, ``extra_fields``, ``descriptors``, ``layout``, ``name_audit``, ``file_kinds``
    Facts about an archive, without verdicts: all headers, names and gaps, a million entries in seconds.
``ambiguities``
    Facts that programs understand in different ways, though no record contradicts another.
``central_extras``
    The extra fields of the central directory, and names that they give instead of the names there.
``scattered_reading``
    Short pieces of a file, a million of them, in few reads.
``recovery``, ``recovery_values``, ``recovery_directory``, ``recovery_entries``, ``recovery_evidence``
    What a damaged archive still holds: entries by their local headers, values proven by CRC-32, names by the directory.

APPNOTE is PKWARE's APPNOTE.TXT 6.3.10; section numbers in comments refer to it.
"""
