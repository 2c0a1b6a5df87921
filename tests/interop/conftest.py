"""Exclude scripts for separate environments, with programs that are not installed here."""

collect_ignore = [
    "crate_judge.py",
    "kept/make_iohub.py",
    "napari_reader.py",
    "neuroglancer_picture.py",
    "zarr2_reader.py",
]
