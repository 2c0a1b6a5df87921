"""Nodes in the form that rules check: documents, facts about them, and positions of values.

``document``
    A node's parsed documents, while they are checked.
``facts``
    The facts about each node that rules about the whole hierarchy use.
``place``
    A value's place in a document, and findings about it.
``expecting``
    Values of an expected type, and findings where they have another.
"""
