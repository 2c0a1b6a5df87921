"""Ask the server of a page without a browser."""

import http.client
import json
from contextlib import closing


class Page:
    """Asks a served page as a browser does."""

    def __init__(self, server, page):
        self.host = server.origin.removeprefix("http://")
        self.path = page.access.page_path
        self.start_path = page.access.start_path

    def post(self, document, path=None, **headers):
        """Return the status of a request, by default to keep colours, and its answer."""
        given = {"Origin": f"http://{self.host}", "Content-Type": "application/json"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        return self.ask("POST", self.path + "api/keep" if path is None else path, body, given)

    def get(self, name, **headers):
        return self.ask("GET", f"{self.path}api/{name}", None, headers)

    def ask(self, method, path, body, headers):
        with closing(http.client.HTTPConnection(self.host, timeout=30)) as connection:
            wanted = {name: value for name, value in headers.items() if value is not None}
            connection.request(method, path, body, wanted)
            answer = connection.getresponse()
            self.etag = answer.headers["ETag"]
            told = answer.read()
            return answer.status, json.loads(told) if told.startswith(b"{") else told
