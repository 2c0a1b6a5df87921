"""Validation of files against the specifications, and reports of the findings.

``ozx.archive.audit.facts`` and the metadata documents give the facts. A check only compares these facts with a clause.

``validate``
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
    Nodes in the form that rules check: documents, facts, and positions of values.
``rules/``
    The texts of all rules, in TOML files, and the creation of findings.
``report``
    One finding, and the report on one file or directory.
``wording``
    Short texts of document values, for messages.
"""
