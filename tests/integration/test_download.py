# SPDX-License-Identifier: Apache-2.0
"""Fetching a file from a server on this machine: status, size, time, redirects, and what is left on disk."""

from __future__ import annotations

import stat
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from trialplate.engine.fetching import fetch
from trialplate.errors import SpecError
from trialplate.transport.download import MOST_REDIRECTS, download

PICTURE = b"\x89PNG\r\n\x1a\n\0not much of a picture"
LIMIT = 1000


class _Files(BaseHTTPRequestHandler):
    """Answers /cat.png, /big, /missing, /hang, /hop/N (N redirects before the picture) and /away."""

    seen: list[tuple[str, dict[str, str]]]
    done: threading.Event

    def do_GET(self) -> None:
        self.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        if self.path == "/hang":
            self.done.wait(30)
            return
        if self.path.startswith("/hop/") and (left := int(self.path[5:])) > 0:
            self._reply(302, b"", location=f"/hop/{left - 1}#part")
        elif self.path == "/away":
            self._reply(301, b"", location="file:///etc/hosts")
        elif self.path == "/missing":
            self._reply(404, b"no")
        elif self.path == "/part":
            self._reply(206, PICTURE[:4])
        else:
            self._reply(200, b"x" * (LIMIT + 1) if self.path == "/big" else PICTURE)

    def _reply(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), "set-cookie": "a=1", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Stay silent."""


@pytest.fixture
def server() -> Iterator[tuple[str, type[_Files]]]:
    """A server and its handler, which notes what was asked."""
    handler = type("Files", (_Files,), {"seen": [], "done": threading.Event()})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{made.server_address[1]}", handler
        handler.done.set()
        made.shutdown()
        thread.join()


def test_fetched_bytes_are_whole_private_and_alone(server: tuple[str, type[_Files]], tmp_path: Path) -> None:
    """Folders are made; no half-written file stays beside it; no key and no cookie is sent."""
    path = tmp_path / "a" / "b" / "copy"
    fetch(f"{server[0]}/cat.png", path, LIMIT)
    assert path.read_bytes() == PICTURE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]
    ((_, headers),) = server[1].seen
    assert not {"cookie", "authorization"} & headers.keys()


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/missing", "status 404 instead of 200"),
        ("/part", "status 206 instead of 200"),
        ("/big", f"longer than {LIMIT} bytes"),
        ("/away", "leads to no http or https address"),
        (f"/hop/{MOST_REDIRECTS + 1}", f"more than {MOST_REDIRECTS} redirects"),
    ],
)
def test_what_is_no_whole_file_is_refused(
    server: tuple[str, type[_Files]], tmp_path: Path, path: str, words: str
) -> None:
    """Nothing is left on disk."""
    with pytest.raises(SpecError) as caught:
        fetch(server[0] + path, tmp_path / "copy", LIMIT)
    assert (words in caught.value.message, caught.value.code) == (True, "FETCH"), caught.value
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_redirects_are_followed_up_to_a_bound(server: tuple[str, type[_Files]]) -> None:
    """Relative ones too; a fragment is never sent, and no cookie goes along."""
    assert download(f"{server[0]}/hop/{MOST_REDIRECTS}", LIMIT) == PICTURE
    assert [path for path, _ in server[1].seen] == [f"/hop/{left}" for left in range(MOST_REDIRECTS, -1, -1)]
    assert not any("cookie" in headers for _, headers in server[1].seen)


def test_server_that_hangs_is_not_waited_for(server: tuple[str, type[_Files]]) -> None:
    """The time is that of the whole download."""
    with pytest.raises(SpecError, match=r"no answer within"):
        download(f"{server[0]}/hang", LIMIT, timeout_s=0.2)


def test_nobody_there_is_told(server: tuple[str, type[_Files]]) -> None:
    """A port that nobody listens on."""
    with pytest.raises(SpecError, match="no connection"):
        download("http://127.0.0.1:1/cat.png", LIMIT)
