# SPDX-License-Identifier: Apache-2.0
"""An OpenAI-compatible server that answers everything after 50 ms. Prints its port when it listens."""

from __future__ import annotations

import asyncio
import itertools

from aiohttp import web

DELAY_S = 0.05
numbers = itertools.count()


async def answer(request: web.Request) -> web.Response:
    """Answer one chat completion."""
    body = await request.json()
    await asyncio.sleep(DELAY_S)
    message = {"role": "assistant", "content": "4"}
    return web.json_response(
        {
            "id": f"chatcmpl-{next(numbers)}",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 1, "total_tokens": 21},
        }
    )


async def main() -> None:
    """Serve until killed."""
    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
