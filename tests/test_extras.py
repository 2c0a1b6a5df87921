"""The command for a missing extra names the packages of pyproject.toml."""

import tomllib
from pathlib import Path

from ozx.extras import install_hint


def test_the_hint_of_a_missing_extra_names_its_packages():
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    for extra, packages in project["project"]["optional-dependencies"].items():
        if extra in ("remote", "s3", "gcs", "azure", "dask"):
            assert install_hint(extra).split("pip install ")[1].split() == [f'"{package}"' for package in packages]
    assert '"napari[all]' in install_hint("napari")  # with a Qt binding
