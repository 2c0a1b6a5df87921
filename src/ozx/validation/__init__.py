"""Verdicts: what the documents demand of a file, and where it falls short.

Facts come first, from ``ozx.archive.audit.facts`` and from the metadata documents; a rule only compares them with a
clause.

``findings``
    One finding, and the report on one file or directory.
``rules``
    The one table of all rules: id, severity, clause, document and revision, what it means, how to repair it.
``rule``
    What a row of it is.
``zip_table``, ``ambiguity_table``, ``rfc9_table``, ``zarr_table``, ``extension_table``, ``name_table``,
``convention_table``, ``data_table``
    Its rows; those about OME-Zarr stand in ``ome``.
``node_document``, ``node_facts``
    One node while its documents are looked at, and what is kept of it for the rules about the hierarchy.
``hierarchy``
    The rules about metadata documents: which there are, and all of them at work.
``zarr_rules``, ``array_rules``, ``codec_rules``, ``codec_settings``
    Zarr core 3.1: what every metadata document, arrays and chains of codecs have to be, and which codecs there are.
``consolidated_copies``
    The copies in the root's consolidated metadata, compared with the nodes.
``extension_rules``
    Zarr core 3.1, ZEP 9 and ZEP 10: extensions, their names, and who understands them.
``name_rules``
    Zarr core 3.1: advice about names.
``convention_rules``, ``schemas``
    Zarr conventions, in both forms; the JSON schemas that are given for them.
``ome/``
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
``ambiguity_rules``
    What programs understand in different ways though APPNOTE is followed.
``rfc9_rules``
    OME-Zarr in a ZIP file: the hierarchy, its nodes, sharding.
``container_rules``
    OME-Zarr in a ZIP file: ZIP64, order of the entries, comment, file name.
``directory``
    What of this applies to a hierarchy in a directory.
``validate``, ``many``
    All of it, for one file or directory, or for many.
``refusal``
    What is never written.
``cases/``
    What breaks each rule and what just does not, a package of its own.
"""
