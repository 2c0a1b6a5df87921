"""Serve the files of a page from the folder ``page`` of a package."""

from __future__ import annotations

from http import HTTPStatus
from importlib import resources

from ozx.desktop.viewer.loopback import Answer, refusal

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# Load only from this server, run no text of a file as code, allow no frames.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: Headers of all responses of a page.
SAFE = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",  # the address contains the token
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def page_file(package: str, name: str) -> Answer:
    """Return the response with a file of the folder ``page`` of a package; 404 if there is no such file."""
    name = name or "index.html"
    folder = resources.files(package) / "page"
    names = {item.name for item in folder.iterdir()}
    kind = _TYPES.get(name[name.rfind(".") :])
    if name not in names or kind is None:
        return refusal(HTTPStatus.NOT_FOUND, "there is nothing here")
    return Answer(HTTPStatus.OK, (folder / name).read_bytes(), kind, {"Cache-Control": "no-cache"})
