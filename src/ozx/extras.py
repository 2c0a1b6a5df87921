"""The optional packages of ozx, and the command that installs them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ozx.errors import ResourceError

# pip finds the installed ozx-toolkit, from the package index or from a clone, and installs what its extra lacks. napari
# runs with the Qt binding of the user's choice, so its extra names none.
_MORE = {"napari": ' "napari[all]"'}


def install_hint(extra: str) -> str:
    """Return a hint with the command that installs the packages of one of ozx's extras."""
    return f'Install it: pip install "ozx-toolkit[{extra}]"{_MORE.get(extra, "")}'


@contextmanager
def needed(extra: str, purpose: str) -> Iterator[None]:
    """Turn a failed import in the ``with`` block into an error that names the extra.

    Examples
    --------
    >>> with needed("tiff", "reading a TIFF file"):
    ...     import a_package_of_this_extra
    Traceback (most recent call last):
    ozx.errors.ResourceError: reading a TIFF file needs the extra tiff: No module named 'a_package_of_this_extra'
    """
    try:
        yield
    except ImportError as error:
        raise ResourceError(f"{purpose} needs the extra {extra}: {error}", hint=install_hint(extra)) from None
