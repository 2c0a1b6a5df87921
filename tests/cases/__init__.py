"""Test cases of every rule: files that break the rule, and similar files that obey the rule.

Tests run all of them, and ``export`` writes them for other programs.

``archive_builder``
    Builder of archives from their records, valid or with deviations.
``case``
    One file or directory, and all expected findings.
``zip_cases``, ``ambiguity_cases``, ``rfc9_cases``, ``data_cases``
    The cases of the rules about archives and about stored values.
``documents``
    The cases of the rules about metadata documents, which are plain JSON files: ``hierarchy/*/*.json``.
``table``
    All cases by rule.
``export``
    The script that writes the cases as files.
"""
