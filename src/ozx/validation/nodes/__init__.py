"""Nodes as the rules see them: documents, facts about them, and places of values in them.

``document``
    A node's parsed documents, while they are checked.
``facts``
    The facts about each node that rules about the whole hierarchy use.
``place``
    A value's place in a document, and findings about it.
``expecting``
    Values of an expected type, and findings where they have another.
"""
