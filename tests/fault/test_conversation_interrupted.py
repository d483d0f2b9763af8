# SPDX-License-Identifier: Apache-2.0
"""A run that is stopped in the middle of a conversation, while a tool runs: what it leaves, and what `resume` does."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from processes import KILL, PATIENCE_S, cut_short, start, wait_for
from server_thread import ServerThread
from tool_project import KEYS, do, ends, project, require_nothing_leaked, results


@pytest.mark.parametrize("cache", ["off", "auto"])
@pytest.mark.parametrize("how", [KILL, signal.SIGINT])
def test_run_stopped_while_a_tool_runs_is_resumed_from_the_first_turn(tmp_path: Path, how: int, cache: str) -> None:
    """The attempt is lost or interrupted as a whole; the next one is a conversation of its own, and it passes."""
    going = [False]

    def answer(body: dict[str, Any]) -> Any:
        return "Paris" if results(body) else do("nothing" if going[0] else "sleep")

    with ServerThread(ChatServer(answer=answer)) as server:
        made = project(tmp_path, server.url, cache=cache)
        process = start(made, "run", "--yes", **KEYS)
        wait_for(lambda: (made.root / "slept").exists(), process)
        if how == KILL:
            process.send_signal(how)
        else:
            cut_short(process)
        process.communicate(timeout=PATIENCE_S)
        slept = int((made.root / "slept").read_text())
        wait_for(lambda: not Path(f"/proc/{slept}").exists())
        assert made.codes() <= {"RUN-UNFINISHED"}
        going[0] = True
        if cache == "auto":  # the first turn is replayed as it was, and its tool would sleep again
            (made.root / "tools" / "awake").touch()
        assert made("resume", "latest", **KEYS).code == 0
        asked = [len(results(seen.body)) for seen in server.requests]
    assert asked == ([0, 1] if cache == "auto" else [0, 0, 1])
    end = ends(made)[-1]
    assert (end["outcome"], len(end["calls"])) == ("passed", 2)
    assert end["attempt"] == 2
    assert json.loads((made.last / "record.jsonl").read_bytes().splitlines()[-1])["type"] == "run.close"
    assert made.codes() == set()
    require_nothing_leaked(tmp_path)


@pytest.mark.parametrize("cache", ["off", "auto"])
def test_tool_that_kills_the_run_leaves_what_a_killed_one_does(tmp_path: Path, cache: str) -> None:
    """Nothing can keep a program of one's own from that; the record verifies, and the attempt counts as lost."""

    def answer(body: dict[str, Any]) -> Any:
        return "Paris" if results(body) else do("kill")

    with ServerThread(ChatServer(answer=answer)) as server:
        made = project(tmp_path, server.url, cache=cache)
        process = start(made, "run", "--yes", **KEYS)
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == -KILL
        assert made.codes() <= {"RUN-UNFINISHED"}
        (made.root / "tools" / "awake").touch()
        assert made("resume", "latest", **KEYS).code == 0
    assert ends(made)[-1]["outcome"] == "passed"
    assert made.codes() == set()
    require_nothing_leaked(tmp_path)
