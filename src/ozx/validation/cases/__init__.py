"""Every rule's cases: what breaks it and nothing else, and the nearest that does not.

Tests go through all of them, and ``ozx rules --cases`` writes them for other programs.

``archive_builder``
    Archives put together from their records, right or wrong as asked for.
``case``
    One file or directory, and all that is to be found in it.
``zip_cases``, ``ambiguity_cases``, ``rfc9_cases``, ``data_cases``, ``other_cases``
    The cases of the rules about archives, and about the values in them.
``documents``
    The cases of the rules about metadata documents, which are plain JSON files: ``hierarchy/*/*.json``.
``table``
    All of them by rule.
"""
