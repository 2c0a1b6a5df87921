"""The validation rules: their texts, and the creation of findings.

A TOML file holds the rules of one document, in the order of the documentation. ``documents`` names what they refer to,
the first one for every rule that names no other; ``repairs`` holds repairs that several rules share.

``table``
    Every rule by its id: severity, clause, document and revision, meaning, repair.
``findings``
    Findings of a rule, and what limits their number.
"""
