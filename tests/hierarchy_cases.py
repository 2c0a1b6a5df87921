"""The cases of the rules about metadata documents, which are part of ozx."""

from cases.documents import documents_of, read_files

__all__ = ["FILES", "documents_of"]

FILES = read_files()
