"""A server of the page for this machine alone: bound to 127.0.0.1, with a secret in its address."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from localegop._explorer import page
from localegop._explorer.scene import Scene

ADDRESS = "127.0.0.1"
MOST_BYTES = 1_000_000  # of a request
MOST_QUERIES = 50  # of a request
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
HTML, CSS, JS, JSON = (
    f"{kind}; charset=utf-8" for kind in ("text/html", "text/css", "text/javascript", "application/json")
)


class Refusal(Exception):
    """A request that is not answered: a status code, and why."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code, self.why = code, why


class Server(ThreadingHTTPServer):
    """Serves one scene at :attr:`address`; all other requests are refused.

    Parameters
    ----------
    scene : Scene
    port : int
        0 takes one that is free.
    """

    daemon_threads = True

    def __init__(self, scene: Scene, port: int = 0) -> None:
        super().__init__((ADDRESS, port), Handler)
        self.scene, self.token = scene, secrets.token_urlsafe(24)
        self._lock = threading.Lock()  # one answer at a time: each uses all threads it may
        start = page.to_json({**scene.start(), "fits": None, "training": None})
        self.pages: dict[str, tuple[str, str]] = {
            "": (HTML, page.server_page(scene.title)),
            "style.css": (CSS, page.style()),
            "explorer.js": (JS, f"{page.script()}\nstartServer();\n"),
            "scene.json": (JSON, start),
        }

    @property
    def address(self) -> str:
        """Address to open, with the secret."""
        return f"http://{ADDRESS}:{self.server_port}/{self.token}/"

    def hosts(self) -> tuple[str, str]:
        """Return what a browser on this machine may call the server."""
        return f"{ADDRESS}:{self.server_port}", f"localhost:{self.server_port}"

    def answer(self, content: bytes) -> str:
        """Answer a question about queries, given as JSON."""
        X, profiles = self._read(content)
        with self._lock:
            return page.to_json(self.scene.answerer.answer(X, profiles=profiles))

    def _read(self, content: bytes) -> tuple[np.ndarray[Any, np.dtype[np.float64]], bool]:
        """Read the queries (q, D) of a question, and whether it asks for profiles."""
        try:
            asked = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise Refusal(400, f"not JSON: {error}") from error
        known = isinstance(asked, dict) and set(asked) <= {"queries", "profiles"} and "queries" in asked
        profiles = asked.get("profiles", True) if known else None
        if not known or not isinstance(profiles, bool):
            raise Refusal(400, 'ask with {"queries": [[...], ...], "profiles": true or false}')
        try:
            X = np.array(asked["queries"], dtype=float)
        except (TypeError, ValueError, OverflowError) as error:
            raise Refusal(400, "queries must be lists of numbers") from error
        features = self.scene.X.shape[1]
        if (
            X.ndim != 2
            or X.shape[1] != features
            or not 1 <= len(X) <= MOST_QUERIES
            or not np.isfinite(X).all()
        ):
            raise Refusal(
                400,
                f"queries must be 1 to {MOST_QUERIES} lists of {features} finite numbers, got {X.shape}",
            )
        return X, profiles


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server
    server_version, sys_version = "localegop", ""
    timeout = 60

    def do_GET(self) -> None:
        """Send a page."""
        self._respond(self._page)

    def do_POST(self) -> None:
        """Answer a question."""
        self._respond(self._question)

    def _respond(self, find: Callable[[], tuple[str, str]]) -> None:
        try:
            code, (kind, text) = 200, find()
        except Refusal as refusal:
            code, kind, text = refusal.code, JSON, page.to_json({"error": refusal.why})
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            code, kind, text = 500, JSON, page.to_json({"error": " ".join(why.split())})
        content = text.encode()
        try:
            self.send_response(code)
            for name, value in {
                **HEADERS,
                "Content-Type": kind,
                "Content-Length": str(len(content)),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
        except ConnectionError:
            self.close_connection = True  # the page has gone on without waiting

    def _asked(self) -> str:
        """Return the name asked for, after all checks of who asks."""
        if self.headers.get("Host") not in self.server.hosts():
            raise Refusal(403, "this server answers to its own name only")
        origin = self.headers.get("Origin")
        if origin is not None and origin not in [f"http://{host}" for host in self.server.hosts()]:
            raise Refusal(403, "this server answers its own pages only")
        _, token, *rest = [*self.path.split("?", 1)[0].split("/", 2), ""]
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            raise Refusal(403, "open the address that was printed: it has a secret in it")
        return rest[0]

    def _page(self) -> tuple[str, str]:
        name = self._asked()
        if name not in self.server.pages:
            raise Refusal(404, "there is no such page")
        return self.server.pages[name]

    def _question(self) -> tuple[str, str]:
        if self._asked() != "fits":
            raise Refusal(404, "there is no such page")
        if self.headers.get_content_type() != "application/json":
            raise Refusal(415, "ask with JSON (Content-Type: application/json)")
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise Refusal(411, "say how long the question is (Content-Length)")
        if int(length) > MOST_BYTES:
            raise Refusal(413, f"a question has at most {MOST_BYTES} bytes")
        return JSON, self.server.answer(self.rfile.read(int(length)))

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the terminal belongs to the user."""
