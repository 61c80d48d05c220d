"""The server of the explorer answers its own page and nobody else."""

import http.client
import json

import pytest
from tests.explorer.examples import near


def request(server, path, body=None, **headers):
    """Ask as a browser on this machine would, with the secret unless the path begins with a slash."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    try:
        target = path if path.startswith("/") else f"/{server.token}/{path}"
        headers = {"Host": server.hosts()[0]} | {name.replace("_", "-"): v for name, v in headers.items()}
        connection.request("GET" if body is None else "POST", target, body, headers)
        response = connection.getresponse()
        return response.status, response.read().decode(), response.headers
    finally:
        connection.close()


def ask(server, body, **headers):
    return request(server, "fits", body, **{"Content_Type": "application/json"} | headers)


def test_pages_come_with_a_strict_policy(server):
    for name in ("", "style.css", "explorer.js", "scene.json"):
        status, text, headers = request(server, name)
        assert status == 200 and len(text) > 100
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"  # the address has a secret in it
    assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "path", ["/", "/scene.json", "/wrong/", "/wrong/scene.json", "//scene.json", "/%00/"]
)
def test_without_the_secret_there_is_nothing(server, path):
    status, text, _ = request(server, path)
    assert status == 403
    assert server.token not in text
    assert request(server, path, b"{}")[0] == 403


def test_every_server_has_a_secret_of_its_own(server, model, rows):
    from localegop._explorer.server import Server

    with Server(model.explore(rows[0][:2]).scene) as other:
        assert other.token != server.token and len(other.token) >= 32


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "..%2f..%2fetc/passwd", "app.js", "web/app.js", "/../etc/passwd", "fits"]
)
def test_paths_outside_its_pages_are_not_found(server, path):
    assert request(server, path)[0] in (403, 404)
    assert "root:" not in request(server, path)[1]


def test_other_hosts_and_origins_are_refused(server):
    port = server.server_port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", ""):
        assert request(server, "scene.json", Host=host)[0] == 403
    assert request(server, "scene.json", Host=f"localhost:{port}")[0] == 200
    assert ask(server, b"{}", Origin="http://evil.example")[0] == 403
    assert ask(server, b"{}", Origin="null")[0] == 403


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b"null",
        b'{"queries": 3}',
        b'{"queries": []}',
        b'{"queries": [[1, 2]]}',
        b'{"queries": [[1, 2, "a"]]}',
        b'{"queries": [[1, 2, NaN]]}',
        b'{"queries": [[1, 2, 1e999]]}',
        b'{"queries": [[1, 2, 3], [1]]}',
        b'{"queries": [[1, 2, 3]], "profiles": 3}',
        b'{"queries": [[1, 2, 3]], "more": 3}',
        b"[" * 100_000,
        json.dumps({"queries": [[0.0, 0.0, 0.0]] * 51}).encode(),
    ],
)
def test_malformed_questions_get_400_and_no_trace(server, body):
    status, text, _ = ask(server, body)
    assert status == 400
    assert "Traceback" not in text and set(json.loads(text)) == {"error"}


def test_other_bad_requests(server):
    assert request(server, "fits", b"{}", Content_Type="text/plain")[0] == 415
    assert ask(server, b"{}", Content_Length="1000001")[0] == 413  # before anything of it is read
    assert ask(server, iter([b"{}"]), Transfer_Encoding="chunked")[0] == 411
    assert request(server, "nothing", b"{}")[0] == 404


def test_an_error_within_is_one_line(server, monkeypatch):
    def fail(content):
        raise RuntimeError("something\nodd")

    monkeypatch.setattr(server, "answer", fail)
    status, text, _ = ask(server, b"{}")
    assert status == 500
    assert json.loads(text) == {"error": "RuntimeError: something odd"}


def test_answers(server, model, rows):
    query = rows[0].to_numpy()[3]
    status, text, _ = ask(server, json.dumps({"queries": [query.tolist()], "profiles": False}))
    assert status == 200
    told = json.loads(text)["fits"][0]
    near(told["outputs"][0]["value"], model.predict(rows[0][3:4], exact=True)[0])
    assert told["profiles"] is None
    far = json.loads(ask(server, b'{"queries": [[1e3, 0, 0]]}')[1])["fits"][0]["outputs"][0]
    assert far["status"] == "extrapolated" and far["remoteness"] > 1.0
