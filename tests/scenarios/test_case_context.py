# SPDX-License-Identifier: Apache-2.0
"""Passages of retrieval cases: every scorer of one's own sees them, and no model, service, program or function does."""

from __future__ import annotations

import json
from pathlib import Path

from chat_server import ChatServer
from server_thread import ServerThread
from small_project import SmallProject

PASSAGE = "Refunds are made within thirty days of PLANTED-PASSAGE-7f3a."
CASES = "".join(
    json.dumps({"id": f"q{n}", "input": f"How long does refund {n} take?", "expected": "30 days", "context": context})
    + "\n"
    for n, context in enumerate(([PASSAGE, "Another passage."], PASSAGE))
)
PLAN = """\
trialplate: 1
name: retrieval
test_sets: [{{file: cases/q.jsonl}}]
models:
  claude: {{runner: anthropic, url: "{url}", model: m-small, settings: {{max_tokens: 64}}}}
  chat: {{runner: openai-compatible, url: "{url}/v1", model: m-small}}
  service:
    runner: http
    request: {{url: "{url}/ask?q={{{{input}}}}", body: {{question: "{{{{input}}}}"}}}}
    response: {{pointer: /answer}}
    subject: service 1
  program: {{runner: command, shell: "tee -a heard.txt > /dev/null; env >> heard.txt; echo 30 days", pricing: free}}
  function: {{runner: python, callable: "my.py:answer"}}
repeats: 1
scorers:
  by_program: {{type: command, shell: "python3 faithful.py"}}
  by_function: {{type: python, callable: "own.py:grade"}}
pass_mark:
  rules: [{{id: seen, at_least: 1, of: by_program, basis: estimate}}]
"""
FILES = {
    "my.py": "def answer(*everything):\n    open('heard.txt', 'a').write(repr(everything))\n    return '30 days'\n",
    "faithful.py": (
        "import json, sys\nsaid = json.load(sys.stdin)\n"
        f"seen = {PASSAGE!r} in said['context'] and said['output'] == said['expected']\n"
        "print(json.dumps({'score': 1 if seen or said['output'].strip() == '30 days' and said['context'] else 0}))\n"
    ),
    "own.py": f"def grade(case, answer):\n    return {PASSAGE!r} in case['context']\n",
}


def test_passages_reach_scorers_and_no_request(tmp_path: Path) -> None:
    """A text is a list of one. What is sent, piped, passed or set in an environment holds none of it."""
    with ServerThread(ChatServer(answer=lambda body: "30 days")) as server:
        made = SmallProject.write(tmp_path, PLAN.format(url=server.url.removesuffix("/v1")))
        (made.root / "cases" / "q.jsonl").write_text(CASES)
        for name, text in FILES.items():
            (made.root / name).write_text(text)
        made.run(ANTHROPIC_API_KEY="key")
        heard = [seen.raw for seen in server.requests] + [repr(seen).encode() for seen in server.requests]
    assert len(heard) == 2 * 6
    heard.append((made.root / "heard.txt").read_bytes())
    assert b"How long does refund 1 take?" in heard[-1]
    assert not any(b"PLANTED-PASSAGE" in raw for raw in heard)
    lines = (made.last / "record.jsonl").read_text(encoding="utf-8").splitlines()
    ends = [entry["body"] for entry in map(json.loads, lines) if entry["type"] == "trial.end"]
    assert [end["metrics"] for end in ends] == [{"by_program": 1, "by_function": 1}] * 10
    assert made.codes("latest") == set()
    assert "PLANTED-PASSAGE" not in (made.last / "plan.json").read_text()
