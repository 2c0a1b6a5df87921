"""Serve the web page of the neuroglancer Python package, together with the values of a file."""

from __future__ import annotations

import importlib.util
import json
import os
from dataclasses import replace
from http import HTTPStatus

import zarr

from ozx.desktop.viewer.gate import Gate
from ozx.desktop.viewer.loopback import Answer, Request, refusal
from ozx.desktop.viewer.neuroglancer_state import make_state
from ozx.desktop.viewer.pictures import Pictures
from ozx.desktop.viewer.presence import Presence
from ozx.desktop.viewer.ranges import StoreValues
from ozx.errors import OzxError, ResourceError
from ozx.extras import install_hint
from ozx.hierarchy.json.documents import dump_document
from ozx.hierarchy.keys import is_metadata_key, node_of
from ozx.hierarchy.ome.conversion import convert_group
from ozx.store.image_view import GroupNodes

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".wasm": "application/wasm",
}
# The client needs workers, WebAssembly decoders and its own styles. Nothing else may be loaded.
_POLICY = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval' blob:; worker-src 'self' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' blob: data:; connect-src 'self' blob: data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# The client's workers follow the policy of their own script; they compile functions from text.
_WORKER_POLICY = _POLICY.replace("'wasm-unsafe-eval'", "'wasm-unsafe-eval' 'unsafe-eval'")
_SAFE = {"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin"}
# The client keeps a connection to its server open, beside a folder "v"; the connection shows that the page is open.
_PAGE = "v/1/"
_EVENTS = "events/1"
_START = b'<link rel="icon" href="data:,"><script src="start.js"></script>'


def find_client() -> str:
    """Return the folder of neuroglancer's web page.

    Raises
    ------
    ResourceError
        neuroglancer is not installed.
    """
    # Not imported: the package would start its own server.
    spec = importlib.util.find_spec("neuroglancer")
    folders = [] if spec is None or spec.submodule_search_locations is None else spec.submodule_search_locations
    for folder in folders:
        client = os.path.join(folder, "static", "client")
        if os.path.isfile(os.path.join(client, "index.html")):
            return client
    raise ResourceError("neuroglancer is not installed", hint=install_hint("neuroglancer"))


class NeuroglancerServer:
    """A server of neuroglancer's page (in the folder `client`) and of a file's data, at a secret path.

    The text `identity` changes with the file.
    """

    def __init__(self, group: zarr.Group, client: str, identity: str) -> None:
        self._pictures = Pictures(group)
        self._nodes = GroupNodes(group)
        self._values = StoreValues(group, f'"{identity}"')
        self._client = client
        self._files = frozenset(os.listdir(client))
        self.gate = Gate()
        self.presence = Presence()

    def check(self) -> None:
        """Raise `FormatError` or `UnsupportedError` if the file contains nothing to show."""
        make_state(self._pictures, "")

    def respond(self, request: Request) -> Answer:
        """Return the response to a request; 404 without the token."""
        rest = self.gate.enter(request)
        if isinstance(rest, Answer):
            return rest
        answer = self._answer(rest, request)
        policy = _WORKER_POLICY if answer.content_type == _TYPES[".js"] else _POLICY
        return replace(answer, headers={**answer.headers, **_SAFE, "Content-Security-Policy": policy})

    def _answer(self, name: str, request: Request) -> Answer:
        if not name:
            return Answer(HTTPStatus.FOUND, headers={"Location": self.gate.page_path + _PAGE})
        if name.startswith("data/"):
            key = name.removeprefix("data/")
            return self._older_metadata(key) or self._values.answer(key, request)
        if name == _EVENTS:
            return self.presence.answer(request)
        if not name.startswith(_PAGE):
            return refusal(HTTPStatus.NOT_FOUND, "there is nothing here")
        return self._part(name.removeprefix(_PAGE) or "index.html", request)

    def _older_metadata(self, key: str) -> Answer | None:
        """Return OME-Zarr 0.6 group metadata converted to 0.5, which neuroglancer supports; None for other values."""
        if not is_metadata_key(key):
            return None
        try:
            group = self._nodes.find(node_of(key))
            if not isinstance(group, zarr.Group):
                return None
            document = {"zarr_format": 3, "node_type": "group", "attributes": dict(group.attrs)}
            older = convert_group(document, "0.5", key, drop=True).document
        except OzxError:  # the page shows what neuroglancer makes of it
            return None
        return None if older is document else Answer(HTTPStatus.OK, dump_document(older), "application/json")

    def _part(self, name: str, request: Request) -> Answer:
        if name == "start.js":
            return Answer(HTTPStatus.OK, self._start(request), _TYPES[".js"], {"Cache-Control": "no-store"})
        kind = _TYPES.get(os.path.splitext(name)[1])
        if name not in self._files or kind is None:
            return refusal(HTTPStatus.NOT_FOUND, "there is nothing here")
        with open(os.path.join(self._client, name), "rb") as file:
            body = file.read()
        if name == "index.html":
            body = body.replace(b"<head>", b"<head>" + _START, 1)
        return Answer(HTTPStatus.OK, body, kind, {"Cache-Control": "no-cache"})

    def _start(self, request: Request) -> bytes:
        """Return the script that sets neuroglancer's state when its page loads."""
        base = f"http://{request.headers.get('host', '')}{self.gate.page_path}data"
        state = json.dumps(make_state(self._pictures, base))
        return f"if (!location.hash) location.hash = '!' + encodeURIComponent(JSON.stringify({state}));".encode()
