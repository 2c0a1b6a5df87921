"""Nodes in the form that rules check: documents, facts about nodes, and positions of values.

``facts``
    The parsed documents of one node, which are deleted after its checks, and the facts that rules about the whole
    hierarchy use.
``place``
    A value's place in a document, findings about it, and checks of its type.
"""
