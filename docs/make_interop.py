"""Write docs/interop.md: ``python docs/make_interop.py``, where everything of tests/interop/README.md is installed.

napari is asked in an environment of its own, which has it and ozx: ``OZX_NAPARI_PYTHON`` is its interpreter.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "tests"), str(HERE.parent / "tests" / "interop")]

from matrix import make_page  # noqa: E402

try:
    text = make_page()
except LookupError as error:
    sys.exit(str(error))
(HERE / "interop.md").write_text(text, encoding="utf-8", newline="\n")
