"""Verdicts: what the documents demand of a file, and where it falls short.

Facts come first, from ``ozx.archive.audit`` and from the metadata documents; a rule only compares them with a clause.

``findings``
    One finding, and the report on one file or directory.
``rules``
    The one table of all rules: id, severity, clause, document and revision, what it means, how to mend it. Its rows
    stand in the modules whose names end in ``_table``, what a row is in ``rule``.
``node_document``, ``node_facts``
    One node while its documents are looked at, and what is kept of it for the rules about the hierarchy.
``hierarchy``
    The rules about metadata documents: which there are, and all of them at work.
``zarr_rules``, ``array_rules``, ``codec_rules``
    Zarr core 3.1: what every metadata document, arrays and chains of codecs have to be; what codecs there are stands in
    ``codec_settings``.
``consolidated_copies``
    Copies of documents in the root's, which zarr-python reads instead of these.
``extension_rules``
    Zarr core 3.1, ZEP 9 and ZEP 10: extensions, their names, and who understands them.
``name_rules``
    Zarr core 3.1: advice about names.
``convention_rules``
    Zarr conventions, in both forms; ``schemas`` holds the JSON schemas that are given for them.
``ome``
    OME-Zarr, a package of its own.
``data_rules``
    Stored values: every chunk is where its array looks for it, and can be decoded.
``limits``
    Findings by the thousand.
``readers``
    The programs that warnings name.
``wording``
    Values from documents in messages.
``zip_rules``
    The ZIP file: APPNOTE, and what every reader has to be safe from.
``rfc9_rules``
    OME-Zarr in a ZIP file: the hierarchy, its nodes, sharding.
``container_rules``
    OME-Zarr in a ZIP file: ZIP64, order of the entries, comment, file name.
``directory``
    What of this applies to a hierarchy in a directory.
``validate``, ``many``
    All of it, for one file or directory, or for many.
``cases``
    What breaks each rule and what just does not, a package of its own.
"""
