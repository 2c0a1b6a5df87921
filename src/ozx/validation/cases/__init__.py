"""Test cases of every rule: files that break only this rule, and similar files that comply with it.

Tests run all of them, and ``ozx rules --cases`` writes them for other programs.

``archive_builder``
    Archives put together from their records, well formed or not.
``case``
    One file or directory, and all expected findings.
``zip_cases``, ``ambiguity_cases``, ``rfc9_cases``, ``data_cases``
    The cases of the rules about archives, and about the values in them.
``documents``
    The cases of the rules about metadata documents, which are plain JSON files: ``hierarchy/*/*.json``.
``table``
    All cases by rule.
"""
