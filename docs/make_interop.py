"""Write docs/interop.md: ``python docs/make_interop.py``.

The script needs all programs that tests/interop/README.md lists. napari runs in another environment, in which ozx is
installed, too; ``OZX_NAPARI_PYTHON`` names the interpreter of this environment.
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
