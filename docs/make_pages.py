"""Make every page and picture that depends only on files in the repository: ``python -m docs.make_pages``."""

from __future__ import annotations

import runpy

SCRIPTS = ("make_conformance", "make_architecture", "make_format", "make_results")

if __name__ == "__main__":
    for name in SCRIPTS:
        runpy.run_module(f"docs.{name}", run_name="__main__")
