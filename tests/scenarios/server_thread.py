# SPDX-License-Identifier: Apache-2.0
"""The chat server on a thread and a loop of its own, so that the front door may run its own loop in the main thread."""

from __future__ import annotations

import asyncio
import threading

from chat_server import ChatServer

__all__ = ["ServerThread"]


class ServerThread:
    """Serves while its context lasts."""

    def __init__(self, server: ChatServer, port: int = 0) -> None:
        """Serve on a port; 0 takes a free one."""
        self.server, self.port = server, port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> ChatServer:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.server.start(self.port), self._loop).result(30)
        return self.server

    def __exit__(self, *error: object) -> None:
        asyncio.run_coroutine_threadsafe(self.server.__aexit__(None, None, None), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()
