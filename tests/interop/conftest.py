"""Scripts for environments of their own, with programs that are not installed here, are not collected."""

collect_ignore = ["kept/make_iohub.py", "napari_reader.py"]
