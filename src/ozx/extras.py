"""The optional packages of ozx, and the command that installs them."""

from __future__ import annotations

# The packages of each extra, as in pyproject.toml. Naming them works from a clone as well as from the package index.
_EXTRAS = {
    "remote": '"obstore>=0.12"',
    "s3": '"boto3>=1.36" "obstore>=0.12"',
    "gcs": '"google-cloud-storage>=3.1" "obstore>=0.12"',
    "azure": '"azure-identity>=1.19" "azure-storage-blob>=12.24" "obstore>=0.12"',
    "dask": '"dask[array,distributed]>=2024.8"',
    "napari": '"dask[array]>=2024.8" "napari[all]>=0.5.5"',
}


def install_hint(extra: str) -> str:
    """Return a hint with the command that installs the packages of one of ozx's extras.

    Examples
    --------
    >>> install_hint("remote")
    'Install it: pip install "obstore>=0.12"'
    """
    return f"Install it: pip install {_EXTRAS[extra]}"
