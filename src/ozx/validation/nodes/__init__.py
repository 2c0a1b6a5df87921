"""Nodes in the form that rules check: documents, facts about nodes, and positions of values.

``document``
    The parsed documents of one node, which are deleted after its checks.
``facts``
    The facts about each node that rules about the whole hierarchy use.
``place``
    A value's place in a document, and findings about it.
``expecting``
    Checks that a value has the expected type; a wrong type yields a finding.
"""
