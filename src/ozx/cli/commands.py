"""The names of all commands, and the modules that define them."""

from __future__ import annotations

import importlib

import click

#: Every command and the first line of its help: `ozx --help` shows these without loading a command.
COMMANDS = {
    "pack": "Turn OME-Zarr directories into .ozx files.",
    "unpack": "Turn .ozx files back into directories.",
    "import": "Turn TIFF files into .ozx files, with all resolution levels.",
    "stream": "Write the frames of a camera, from a pipe, to an .ozx file.",
    "repack": "Rewrite a hierarchy: repair it, upgrade it to OME-Zarr 0.5, change its shards.",
    "extract": "Extract a part of a hierarchy: a node, some levels, channels, a region.",
    "export": "Write images as a pyramidal OME-TIFF file.",
    "info": "Describe .ozx files or OME-Zarr directories.",
    "ls": "List the entries of an .ozx file, or the files of an OME-Zarr directory.",
    "cat": "Write one value to standard output, byte for byte.",
    "validate": "Check .ozx files and OME-Zarr directories against RFC-9, Zarr and OME-Zarr.",
    "verify": "Compare .ozx files, or all of a folder or log, with what was recorded when they were packed.",
    "edit": "Correct pixel sizes, units, channels and names in an .ozx file.",
    "recover": "Recover the intact values of a damaged or unfinished .ozx file.",
    "thumbnail": "Make a small picture of an .ozx file or an OME-Zarr directory.",
    "associate": "Open .ozx files by double-click.",
    "view": "Show an .ozx file or an OME-Zarr directory in a window.",
    "serve": "Serve .ozx files to programs on this computer that read URLs.",
    "rules": "Explain what a finding means and how to repair it.",
}

# Python keywords, which cannot name a module.
_MODULES = {"import": "import_tiff"}


def load_command(name: str) -> click.Command:
    """Import and return one of `COMMANDS`."""
    command: click.Command = importlib.import_module(f"ozx.cli.{_MODULES.get(name, name)}").command
    return command
