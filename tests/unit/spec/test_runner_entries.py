# SPDX-License-Identifier: Apache-2.0
"""What an author writes about anthropic, http and python models, what it comes to in a plan, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from author_files import CASES, PLAN

from trialplate.errors import SpecError
from trialplate.plugins import BUILT_IN
from trialplate.record.matrix import attempt_key
from trialplate.record.values import Configuration
from trialplate.spec.freeze import Frozen, freeze
from trialplate.spec.placeholders import fill, fill_url
from trialplate.spec.project import load_project
from trialplate.spec.validate import validate

Write = Callable[..., Path]
ECHO = 'echo: {runner: stand-in, answers: {"*": "yes"}}'
CLAUDE = "m: {runner: anthropic, model: claude-haiku-5-5"
RAG = 'm: {runner: http, subject: rag 1, request: {url: "https://h/ask", body: {q: "{{input}}"}'
FUNCTION = "import os\n\ndef answer(m, q, s): return q\n\nasync def later(m, q, s): return q\n"


@pytest.fixture
def project_of(project_at: Write) -> Callable[..., Path]:
    """Write the small project with another model."""

    def write(entry: str, cases: str = CASES, **files: str) -> Path:
        plan = PLAN.replace(ECHO, entry)
        return project_at(plan, {"cases/a.csv": cases, "my.py": FUNCTION, **files})

    return write


def frozen(root: Path, **options: Any) -> Frozen:
    """Return the plan of a project."""
    return freeze(load_project(root), bytes(32), **options)


def only(root: Path) -> Configuration:
    """Return the one configuration of a project's plan."""
    (found,) = frozen(root).plan.configurations
    return found


def refused(root: Path) -> str:
    """Return what a project is refused for, with place and hint."""
    with pytest.raises(SpecError) as caught:
        frozen(root)
    return f"{caught.value} ({caught.value.hint})"


# ------------------------------------------------------------------------------------------------------- anthropic


def test_anthropic_model_needs_its_id_alone(project_of: Callable[..., Path]) -> None:
    """Address, key variable and max_tokens have their defaults, and all of them stand in the plan."""
    found = only(project_of(f"{CLAUDE}}}"))
    assert (found.runner, found.model_id) == ("anthropic", "claude-haiku-5-5")
    assert (found.endpoint, found.secret) == ("https://api.anthropic.com", "ANTHROPIC_API_KEY")
    assert found.settings == {"max_tokens": 4096}


def test_anthropic_settings_keep_the_names_that_authors_write(project_of: Callable[..., Path]) -> None:
    """Typed names, and `thinking` also as the interface takes it; documents and system text are commitments."""
    entry = f"{CLAUDE}, url: 'http://127.0.0.1:8000/', secret: {{env: OTHER}}, system: Be terse., served: [x], "
    entry += (
        "settings: {max_tokens: 9000, thinking: {type: enabled, budget_tokens: 2048}, documents: [doc.md], top_k: 1}}"
    )
    found = only(project_of(entry, **{"doc.md": "Text"}))
    assert (found.endpoint, found.secret, found.served) == ("http://127.0.0.1:8000", "OTHER", ("x",))
    thinking = {"type": "enabled", "budget_tokens": 2048}
    assert found.settings == {"max_tokens": 9000, "thinking": thinking, "top_k": 1}
    assert [(text.role, text.name) for text in found.texts] == [("system", ""), ("document", "doc.md")]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (f"{CLAUDE}, settings: {{max_tokens: 0}}}}", '"max_tokens": expected a whole number of at least 1'),
        (f"{CLAUDE}, settings: {{max_tokens: many}}}}", '"max_tokens": expected a whole number of at least 1'),
        (f"{CLAUDE}, settings: {{system: x}}}}", "write system: beside settings:"),
        (f"{CLAUDE}, settings: {{stream: 1}}}}", '"stream": expected true or false'),
        (f"{CLAUDE}, settings: {{messages: []}}}}", "is what the runner itself sends"),
        (f"{CLAUDE}, settings: {{efort: low}}}}", 'did you mean "effort"?'),
        (f"{CLAUDE}, max_tokens: 8}}", "what is sent with every request stands under settings:"),
        (f"{CLAUDE}, url: 'https://h/v1/messages'}}", "expected the base address, to which /messages is added"),
        (f"{CLAUDE}, api_key: sk-planted}}", "a key in the plan would be published"),
        (f"{CLAUDE}, secret: {{env: A, header: x}}}}", 'unknown key "header"'),
        ("m: {runner: anthropic}", 'the key "model" is missing'),
        ("m: {runner: antropic, model: x}", 'did you mean "anthropic"?'),
    ],
)
def test_anthropic_model_that_cannot_be_used_is_refused(
    project_of: Callable[..., Path], entry: str, words: str
) -> None:
    """Before anything is spent, and never with the value that was found."""
    told = refused(project_of(entry))
    assert words in told
    assert "sk-planted" not in told
    assert told.startswith("trialplate.yaml:5:")


# ------------------------------------------------------------------------------------------------------------ http


def test_http_model_of_the_example_is_frozen(project_of: Callable[..., Path]) -> None:
    """Address, method, headers, pointers in the open; the body a commitment; how the key goes beside its name."""
    entry = (
        'm: {runner: http, request: {url: "HTTPS://API.Example.com:443/chat", method: POST, headers: {X-Tenant: acme}, '
        'body: {question: "{{input}}", n: 0.50}}, response: {pointer: /answer, tokens: {input: /u/in, output: /u/out}}, '
        'subject: support-rag 2026.11.2, secret: {env: RAG_KEY, header: X-Api-Key, prefix: ""}, pricing: free}'
    )
    root = project_of(entry)
    found = only(root)
    assert (found.endpoint, found.model_id) == ("https://api.example.com/chat", None)
    assert found.settings == {
        "method": "POST",
        "headers": {"x-tenant": "acme"},
        "response": {"pointer": "/answer", "tokens": {"input": "/u/in", "output": "/u/out"}},
    }
    assert (found.secret, found.secret_sent) == ("RAG_KEY", {"header": "x-api-key", "prefix": ""})
    (text,) = found.texts
    opened = frozen(root).openings[text.commitment].value
    assert (text.role, opened) == ("body", {"question": "{{input}}", "n": 0.5})
    assert b"{{input}}" not in frozen(root).raw
    assert validate(root).secrets == ("RAG_KEY",)
    assert any("author's word" in note for note in frozen(root).plan.unpinned)


@pytest.mark.parametrize(
    ("secret", "sent"),
    [
        ("{env: K}", {"header": "authorization", "prefix": "Bearer "}),
        ("{env: K, header: Authorization, prefix: 'Token '}", {"header": "authorization", "prefix": "Token "}),
        ("{env: K, header: x-key}", {"header": "x-key", "prefix": ""}),
    ],
)
def test_http_key_goes_as_bearer_token_unless_it_is_said_otherwise(
    project_of: Callable[..., Path], secret: str, sent: dict[str, str]
) -> None:
    """In another header than authorization it stands alone."""
    assert only(project_of(f"{RAG}}}, secret: {secret}}}")).secret_sent == sent


def test_http_attempts_are_counted_by_what_reaches_the_service(project_of: Callable[..., Path]) -> None:
    """Another subject, body or header is another thing; how the key goes is not."""
    base = attempt_key(only(project_of(f"{RAG}}}}}")))
    same = attempt_key(only(project_of(f"{RAG}}}, secret: {{env: K, header: x-key}}}}")))
    others = [
        RAG.replace("rag 1", "rag 2") + "}}",
        RAG.replace("q:", "question:") + "}}",
        f"{RAG}, headers: {{x-tenant: b}}}}}}",
        f"{RAG}, method: PUT}}}}",
    ]
    assert same == base
    assert len({base, *(attempt_key(only(project_of(other))) for other in others)}) == 5


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('m: {runner: http, request: {url: "https://h", body: {q: "{{input}}"}}}', 'the key "subject" is missing'),
        ("m: {runner: http, subject: s}", 'the key "request" is missing'),
        ('m: {runner: http, subject: s, request: {url: "https://h", body: {q: x}}}', "{{input}} is nowhere"),
        ('m: {runner: http, subject: s, request: {url: "https://h", body: {"{{input}}": x}}}', "{{input}} is nowhere"),
        (
            'm: {runner: http, subject: s, request: {url: "https://h?q={{input}}", method: GET, body: {a: 1}}}',
            "a GET has",
        ),
        ('m: {runner: http, subject: s, request: {url: "https://{{input}}/x"}}', "never in the host"),
        ('m: {runner: http, subject: s, request: {url: "https://h/{{ input }}"}}', "only {{input}} is filled in"),
        ('m: {runner: http, subject: s, request: {url: "https://h", body: ["{{input}} {{model}}"]}}', "only {{input}}"),
        (f"{RAG}, headers: {{x: '{{{{input}}}}'}}}}}}", "only {{input}} is filled in"),
        (f"{RAG}, headers: {{Authorization: sk-planted}}}}}}", "write secret: beside request:"),
        (f"{RAG}, headers: {{X-Api-Key: sk-planted}}}}}}", "write secret: beside request:"),
        (f"{RAG}, headers: {{Cookie: sk-planted}}}}}}", "write secret: beside request:"),
        (f"{RAG}, headers: {{Host: h}}}}}}", "belongs to the connection"),
        (f"{RAG}, headers: {{'a b': c}}}}}}", "expected the name of a header"),
        (f'{RAG}, headers: {{a: "b\\nc"}}}}}}', "expected printable ASCII"),
        (f"{RAG}, headers: {{x-t: a}}}}, secret: {{env: K, header: X-T}}}}", "stands under request: headers: too"),
        (f"{RAG}, method: TRACE}}}}", "expected one of GET, POST"),
        (f"{RAG}}}, response: {{pointer: answer}}}}", "expected a JSON Pointer"),
        (f"{RAG}}}, response: {{pointer: /a~2}}}}", "expected a JSON Pointer"),
        (f"{RAG}}}, response: {{pionter: /a}}}}", 'did you mean "pointer"?'),
        (f"{RAG}}}, settings: {{a: 1}}}}", 'unknown key "settings"'),
        (f"{RAG}}}, url: 'https://h'}}", 'unknown key "url"'),
        ('m: {runner: http, subject: s, request: {url: "https://h", body: "{{input}}"}}', "expected a mapping"),
        (
            'm: {runner: http, subject: s, request: {url: "https://h/?api_key=sk-planted", body: ["{{input}}"]}}',
            "a key in an",
        ),
        (
            'm: {runner: http, subject: s, request: {url: "https://u:sk-planted@h", body: ["{{input}}"]}}',
            "neither a user",
        ),
        ("m: {runner: http, subject: s, request: https://h}", '"request": expected a mapping'),
    ],
)
def test_http_model_that_cannot_be_used_is_refused(project_of: Callable[..., Path], entry: str, words: str) -> None:
    """With the place, and never with a key that stood there."""
    told = refused(project_of(entry))
    assert words in told, told
    assert "sk-planted" not in told
    assert told.startswith("trialplate.yaml:5:")


def test_input_that_would_be_a_step_in_the_path_is_told_by_its_case(project_of: Callable[..., Path]) -> None:
    """Before the run, with the line of the case."""
    entry = 'm: {runner: http, subject: s, request: {url: "https://h/ask/{{input}}", method: GET}}'
    told = refused(project_of(entry, cases="id,input,reference\nq1,fine,yes\nq2,..,no\n"))
    assert told.startswith("cases/a.csv:3: ")
    assert "would be a step in the path" in told


@pytest.mark.parametrize("text", ["a/b", "\u00e9 %", "...", ".", "..", "{{input}}", ""])
def test_filling_in_leaves_the_rest_of_an_address_alone(text: str) -> None:
    """Only ASCII letters and digits stay as they are; a query may hold anything."""
    url = fill_url("https://h/a?q={{input}}&r={{input}}", text)
    encoded = url.partition("?q=")[2].partition("&r=")[0]
    assert url == f"https://h/a?q={encoded}&r={encoded}"
    assert all(char.isalnum() or char == "%" for char in encoded)
    assert encoded.isascii()


def test_filling_in_is_done_once() -> None:
    """An input that holds the placeholder is not filled in again."""
    assert fill({"a": ["{{input}}-{{input}}", 1, None], "{{input}}": True}, "{{input}}!") == {
        "a": ["{{input}}!-{{input}}!", 1, None],
        "{{input}}": True,
    }


# ---------------------------------------------------------------------------------------------------------- python


def test_python_model_pins_its_file(project_of: Callable[..., Path]) -> None:
    """By digest; what the function gets stands in settings, its documents as commitments."""
    entry = (
        "m: {runner: python, callable: 'my.py:answer', model: m-1, settings: {k: 1, documents: [doc.md]}, env: [B, A]}"
    )
    root = project_of(entry, **{"doc.md": "Text"})
    found = only(root)
    assert found.settings == {"callable": "my.py:answer", "env": ["A", "B"], "model": "m-1", "settings": {"k": 1}}
    assert (found.model_id, found.subject) == (None, None)
    assert [file.path for file in found.files] == ["my.py"]
    assert [(text.role, text.name) for text in found.texts] == [("document", "doc.md")]
    assert "my.py" in validate(root).pinned
    changed = project_of(entry, **{"doc.md": "Text", "my.py": FUNCTION + "# other\n"})
    assert attempt_key(only(changed)) != attempt_key(found)


def test_python_model_takes_the_settings_of_profiles(project_of: Callable[..., Path]) -> None:
    """Laid over its own, as for every model that has settings."""
    entry = "m: {runner: python, callable: 'my.py:later', settings: {k: 1, j: 2}}\nprofiles: {p: {settings: {k: 3}}}\n"
    entry += "matrix: [{profiles: [p]}]"
    assert only(project_of(entry)).settings["settings"] == {"k": 3, "j": 2}


@pytest.mark.parametrize(
    ("file", "where"),
    [
        ("def answer(m, q, s): ...", ""),
        ("async def answer(m, q, s): ...", ""),
        ("from beside import answer", ""),
        ("import x as answer", ""),
        ("answer = lambda m, q, s: q", ""),
        ("a, answer = 1, print", ""),
        ("try:\n    from x import answer\nexcept ImportError:\n    answer = None", ""),
        ("if True:\n    def answer(m, q, s): ...", ""),
        ("from beside import *", ""),
        ("class answer: ...", ""),
        ("def answers(m, q, s): ...", 'my.py has no function "answer" (did you mean "answers"?)'),
        ("def f():\n    def answer(m, q, s): ...", 'my.py has no function "answer"'),
        ("", 'my.py has no function "answer"'),
        ("x = 1\ndef answer(:\n", "my.py:2:"),
        ("\0", "my.py"),
    ],
)
def test_python_file_must_hold_the_function(project_of: Callable[..., Path], file: str, where: str) -> None:
    """Read as text and never imported; a syntax error is told with its own place."""
    root = project_of("m: {runner: python, callable: 'my.py:answer'}", **{"my.py": file})
    if where:
        assert where in refused(root)
    else:
        assert only(root).files


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("m: {runner: python}", 'the key "callable" is missing'),
        ("m: {runner: python, callable: my.py}", "expected a file and a function"),
        ("m: {runner: python, callable: 'my:answer'}", "expected a file and a function"),
        ("m: {runner: python, callable: 'my.py:'}", "expected a file and a function"),
        ("m: {runner: python, callable: 'my.py:a.b'}", "expected a file and a function"),
        ("m: {runner: python, callable: '../my.py:answer'}", "inside the project's folder"),
        ("m: {runner: python, callable: '/my.py:answer'}", "inside the project's folder"),
        ("m: {runner: python, callable: 'mine.py:answer'}", 'mine.py does not exist (did you mean "my.py"?)'),
        ("m: {runner: python, callable: 'my.py:answer', system: x}", 'unknown key "system"'),
        ("m: {runner: python, callable: 'my.py:answer', settings: {k: '{{x}}'}}", "a placeholder"),
    ],
)
def test_python_model_that_cannot_be_used_is_refused(project_of: Callable[..., Path], entry: str, words: str) -> None:
    """With the place in the plan."""
    told = refused(project_of(entry))
    assert words in told, told
    assert told.startswith("trialplate.yaml:5:")


# ----------------------------------------------------------------------------------------------------------- cache


def test_auto_pins_what_it_may_replay_and_needs_nothing(project_of: Callable[..., Path]) -> None:
    """No cassette is no mistake, unlike for a replay; a mark that asks for live calls is told."""
    root = project_of(f"{CLAUDE}}}")
    empty = frozen(root, cache="auto")
    assert (empty.plan.cache, empty.plan.cassettes) == ("auto", ())
    assert any("leaves it open under evidence: {calls: live}" in text for text in empty.warnings)
    (root / "cassettes").mkdir()
    (root / "cassettes" / "m.jsonl").write_bytes(b"")
    assert [file.path for file in frozen(root, cache="auto").plan.cassettes] == ["cassettes/m.jsonl"]


@pytest.mark.parametrize("mode", ["live", "auto"])
def test_recording_where_nothing_is_called_is_a_warning(project_of: Callable[..., Path], mode: Any) -> None:
    """A stand-in calls nobody; a command is recorded like any other."""
    assert any("nothing to record" in text for text in frozen(project_of(ECHO), cache=mode).warnings)
    command = project_of("m: {runner: command, shell: cat}")
    assert not any("nothing to record" in text for text in frozen(command, cache=mode).warnings)


# ------------------------------------------------------------------------------------------------------ documentation

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "runners.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(models:\n.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.split("runner: ")[1].split(",")[0].split("\n")[0])
def test_example_of_the_documentation_is_a_plan(project_at: Write, example: str) -> None:
    """Each runner's example, as it stands on the page, with the files that it names."""
    (function,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    files = {"contract.md": "Text", "bot.py": "print(1)\n", "my_system.py": function}
    plan = PLAN
    if "runner: trace" in example:
        plan = plan.replace("cases/a.csv", "cases/a.jsonl")
        files["cases/run.json"] = '{"steps": []}'
        files["cases/a.jsonl"] = '{"trace": "run.json", "reference": "x"}\n' * 2
    root = project_at(plan.replace(f"models:\n  {ECHO}\n", example), files)
    assert validate(root).trials == 4


def test_every_runner_has_its_example() -> None:
    """One of each, and the table names all of them."""
    names = BUILT_IN["runners"]
    assert {re.findall(r"runner: ([a-z-]+)", example)[0] for example in EXAMPLES} == set(names)
    assert all(f"| `{name}` |" in PAGE for name in names)


# --------------------------------------------------------------------------------------- forms and tools of its cases


FORMED = "cases:\n  - {id: q1, input: Is it?, reference: yes, answer_format: one word, tags: [a]}\n  - {id: q2, input: Why?, reference: so, tags: [b]}\n"


def test_schema_is_refused_where_the_provider_takes_none(project_at: Write) -> None:
    """DeepSeek promises an object and no more; that is told at its place, before anything is spent."""
    model = "m: {runner: deepseek, model: deepseek-chat, structured: native}"
    told = refused(project_at(PLAN.replace(ECHO, model), {"cases/a.csv": CASES}))
    assert "deepseek takes no schema for an answer" in told
    assert "json_object or text" in told
    assert "plan.yaml:5:" in told or "trialplate.yaml:5:" in told


def test_form_of_cases_that_a_model_is_not_asked_is_no_part_of_what_reaches_it(project_at: Write) -> None:
    """Else a case for one model would reset the count of attempts of another."""
    two = "m: {runner: deepseek, model: deepseek-chat}\n  n: {runner: deepseek, model: deepseek-chat}"
    two += '\n  all: {runner: stand-in, answers: {"*": "yes"}}'
    lines = "matrix: [{models: [m], cases: {tag: a}}, {models: [n], cases: {tag: b}}, {models: [all]}]\nrepeats"
    plan = PLAN.replace(ECHO, two).replace("a.csv", "a.yaml").replace("repeats", lines, 1)
    found = {
        item.name: item.structured for item in frozen(project_at(plan, {"cases/a.yaml": FORMED})).plan.configurations
    }
    assert found == {"m": "json_object", "n": None, "all": None}
