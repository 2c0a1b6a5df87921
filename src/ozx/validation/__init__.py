"""Validation of files against the specifications, and reports of the findings.

Facts come first, from ``ozx.archive.audit.facts`` and from the metadata documents; a check only compares them with a
clause.

``validate``, ``many``
    All checks of one file or directory, or of many.
``conformance``
    Verdicts for the conformance runner of ngff-spec.
``directory``
    The checks that apply to a hierarchy in a directory.
``hierarchy``
    The checks of metadata documents: each node, then all nodes together.
``container/``
    The ZIP file and RFC-9.
``zarr/``
    Metadata documents and chunks of Zarr.
``ome/``
    OME-Zarr metadata.
``nodes/``
    One node, for the checks of documents.
``rules/``
    The texts of all rules, in TOML files, and findings made of them.
``report``
    One finding, and the report on one file or directory.
``wording``
    Values from documents in messages.
``cases/``
    Files that break each rule, and similar files that obey the rule.
"""
