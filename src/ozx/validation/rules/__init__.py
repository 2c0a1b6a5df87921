"""The validation rules: their texts, and the creation of findings.

A TOML file holds the rules of one subject, in the order of the documentation. ``documents`` lists the documents to
which the rules refer; a rule without ``document`` refers to the first of them. ``repairs`` holds repairs that several
rules share.

``table``
    Every rule by its id: severity, clause, document and revision, meaning, repair.
``findings``
    Creation of findings, with limits on their number.
"""
