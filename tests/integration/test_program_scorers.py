# SPDX-License-Identifier: Apache-2.0
"""Scorers that are programs or functions: what they read, what counts as a score, and that nothing else does."""

from __future__ import annotations

import json
import os
import py_compile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from trialplate.errors import SpecError
from trialplate.record.values import Case, Scorer
from trialplate.scorers.base import Score, ScorerContext, ScorerError
from trialplate.scorers.programs import OUTPUT_BYTES, make_command, make_python
from trialplate.transport.secrets import Secrets

KEY = "PLANTED-7f3a-not-a-real-key"
VECTORS = Path(__file__).parents[1] / "vectors" / "cases" / "decide"
Scored = Callable[..., Coroutine[Any, Any, Score]]
CASE = Case(id="q1", input="Say hello", references=("hello",), tags=("polite",))


def context(project: Path, **environ: str) -> ScorerContext:
    """Return what a scorer may use."""
    secrets = Secrets()
    found = {"PATH": os.environ["PATH"], **environ}
    return ScorerContext(project=project, environ=found, remember=secrets.remember, scrub=secrets.scrub)


@pytest.fixture
def shell(tmp_path: Path) -> Scored:
    """Score by a line of shell."""

    async def run(line: str, answer: str = "x", case: Case = CASE, environ: Any = None, **settings: Any) -> Score:
        scorer = Scorer(name="s", type="command", metric="m", settings={"shell": line, **settings})
        return await make_command(scorer, {}).score(case, answer, context(tmp_path, **(environ or {})))

    return run


@pytest.fixture
def function(tmp_path: Path) -> Scored:
    """Score by the body of a function."""

    async def run(
        body: str, answer: str = "x", environ: Any = None, head: str = "def grade(case, answer):", **settings: Any
    ) -> Score:
        (tmp_path / "own.py").write_text(f"import os, sys, time\n{head}\n    {body}\n")
        scorer = Scorer(name="s", type="python", metric="m", settings={"callable": "own.py:grade", **settings})
        return await make_python(scorer, {}).score(CASE, answer, context(tmp_path, **(environ or {})))

    return run


def says(value: Any) -> str:
    """Return a line of shell that reads its input and writes this."""
    text = value if isinstance(value, str) else json.dumps(value)
    return f"cat > /dev/null; printf %s '{text}'"


# -------------------------------------------------------------------------------------------------------- command


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (CASE, {"expected": "hello", "input": "Say hello", "output": "h\ud835i"}),
        (Case(id="q", input="i"), {"expected": None, "input": "i", "output": "h\ud835i"}),
        (
            Case(id="q", input="i", references=({"a": 1}, "b")),
            {"expected": {"a": 1}, "references": [{"a": 1}, "b"], "input": "i", "output": "h\ud835i"},
        ),
    ],
)
async def test_command_reads_one_object_with_sorted_keys(
    shell: Scored, tmp_path: Path, case: Case, expected: dict[str, Any]
) -> None:
    """EvalCore's protocol: expected is null where there is none; a lone surrogate arrives as JSON writes it."""
    await shell("""cat > got.json; echo '{"score": 1}'""", "h\ud835i", case)
    raw = (tmp_path / "got.json").read_text()
    assert json.loads(raw) == expected
    assert list(json.loads(raw)) == sorted(expected)


@pytest.mark.parametrize(
    ("told", "settings", "value", "verdict", "reason"),
    [
        ({"score": 1}, {}, 1, "passed", "scored 1"),
        ({"score": 0.5}, {}, 0.5, "passed", "scored 0.5"),
        ({"score": 0.49}, {}, 0.49, "failed", "scored 0.49"),
        ({"score": 0.7}, {"threshold": "0.7"}, 0.7, "passed", "scored 0.7"),
        ({"score": 0.7}, {"threshold": "0.700001"}, 0.7, "failed", "scored 0.7"),
        ({"score": 0, "passed": True, "reason": "close"}, {}, 0, "passed", "close"),
        ({"score": 1, "passed": False, "extra": [1]}, {}, 1, "failed", "scored 1"),
    ],
)
async def test_command_score_is_taken_as_it_is_told(
    shell: Scored, told: Any, settings: dict[str, Any], value: float, verdict: str, reason: str
) -> None:
    """The threshold belongs to a pass, in decimals; `passed` says otherwise; other keys are ignored."""
    score = await shell(says(told) + "; echo", **settings)
    assert (score.metrics, score.verdict, score.reason) == ({"m": value}, verdict, reason)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("exit 3", "ended with 3"),
        ("echo boom >&2; kill -9 $$", "killed by signal 9: boom"),
        (says(""), "not one JSON value"),
        (says("0.5"), 'has no "score"'),
        (says("Score: 1"), "not one JSON value"),
        (says('{"score": 1}{"score": 0}'), "not one JSON value"),
        (says('{"score": 0, "score": 1}'), "stands 2 times"),
        (says('{"score": NaN}'), "NaN"),
        (says('{"score": 1e400}'), "too large"),
        (says({"score": True}), "true, which is no number"),
        (says({"score": None}), "null, which is no number"),
        (says({"score": "1"}), "which is no number"),
        (says({"passed": True}), 'has no "score"'),
        (says({"score": 1, "passed": "yes"}), "neither true nor false"),
        (says({"score": 1, "reason": 5}), "reason is no text"),
        (f"head -c {OUTPUT_BYTES + 1} /dev/zero", "wrote more than"),
        ("exec nothing-of-this-name", "ended with 127"),
    ],
)
async def test_command_that_tells_no_score_leaves_the_cell_unknown(shell: Scored, line: str, message: str) -> None:
    """Never a 0 and never a pass."""
    with pytest.raises(ScorerError) as caught:
        await shell(line)
    assert message in str(caught.value)


@pytest.mark.parametrize("value", json.loads((VECTORS / "stats_nulls.json").read_text())[1]["values"])
async def test_score_outside_0_to_1_is_refused_with_the_value(shell: Scored, function: Scored, value: Any) -> None:
    """Case T13: 1.7, -0.2 and "C" are shown and never enter a mean."""
    for score in (shell(says({"score": value})), function(f"return {value!r}"), function(f"return {{'m': {value!r}}}")):
        with pytest.raises(ScorerError) as caught:
            await score
        assert json.dumps(value) in str(caught.value)


async def test_command_that_hangs_is_ended_with_its_children(shell: Scored, tmp_path: Path) -> None:
    """Its time is over, and nothing of it is left."""
    with pytest.raises(ScorerError, match=r"no score within 0\.2 s"):
        await shell("sleep 600 & echo $! > pid; wait", timeout_ms=200)
    pid = int((tmp_path / "pid").read_text())
    stat = Path(f"/proc/{pid}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


async def test_command_sees_what_it_is_allowed_to_and_no_key_is_kept(shell: Scored) -> None:
    """Of the environment the named variables only; a key is scrubbed from reasons and from errors."""
    line = """cat > /dev/null; printf '{"score": 1, "reason": "%s %s %s"}' "$MY_KEY" "$OTHER" "$MODE" """
    environ = {"MY_KEY": KEY, "OTHER": "hidden-from-it", "MODE": "plain-mode"}
    score = await shell(line, environ=environ, env=["MY_KEY", "MODE"])
    assert score.reason == "[secret]  plain-mode"
    with pytest.raises(ScorerError) as caught:
        await shell("echo $MY_KEY >&2; exit 1", environ=environ, env=["MY_KEY"])
    assert KEY not in str(caught.value)


async def test_command_that_reads_nothing_may_still_score(shell: Scored) -> None:
    """A large answer that it does not read is none of its concern, nor ours."""
    assert (await shell("""echo '{"score": 1}'""", "x" * 1_000_000)).verdict == "passed"


async def test_program_that_is_not_there_gives_no_score(tmp_path: Path) -> None:
    """The infrastructure's failure, and not the model's."""
    scorer = Scorer(name="s", type="command", metric="m", settings={"argv": ["./absent"]})
    with pytest.raises(ScorerError, match="there is no program"):
        await make_command(scorer, {}).score(CASE, "x", context(tmp_path))
    with pytest.raises(ScorerError, match="project's folder"):
        await make_command(scorer, {}).score(CASE, "x")


@pytest.mark.parametrize("settings", [{}, {"argv": ["a"], "shell": "b"}, {"shell": "x", "timeout": 1}])
def test_command_settings_that_name_no_program_are_refused(settings: dict[str, Any]) -> None:
    """A plan by another hand is read as strictly as an author's."""
    with pytest.raises(SpecError):
        make_command(Scorer(name="s", type="command", metric="m", settings=settings), {})
    with pytest.raises(SpecError):
        make_python(Scorer(name="s", type="python", metric="m", settings=settings), {})


# --------------------------------------------------------------------------------------------------------- python


@pytest.mark.parametrize(
    ("body", "settings", "value", "verdict"),
    [
        ("return 0.5", {}, 0.5, "passed"),
        ("return 0.25", {"threshold": "0.2"}, 0.25, "passed"),
        ("return True", {}, 1, "passed"),
        ("return answer == 'y'", {}, 0, "failed"),
        ("return {'score': 0.75, 'reason': case['references'][0]}", {}, 0.75, "passed"),
        ("return {'m': 1, 'passed': False}", {}, 1, "failed"),
        ("print('noise'); sys.stdout.flush(); os.write(1, b'more'); return 1", {}, 1, "passed"),
        ("import fractions; return fractions.Fraction(1, 4)", {}, 0.25, "failed"),
    ],
)
async def test_function_score_is_taken_as_it_is_returned(
    function: Scored, body: str, settings: dict[str, Any], value: float, verdict: str
) -> None:
    """A number, true or false, or a dict; what it prints is no score."""
    score = await function(body, **settings)
    assert (score.metrics, score.verdict) == ({"m": value}, verdict)
    if "reason" in body:
        assert score.reason == "hello"


async def test_function_may_be_awaited(function: Scored) -> None:
    """`async def` as well."""
    score = await function("import asyncio; await asyncio.sleep(0); return 1", head="async def grade(case, answer):")
    assert score.verdict == "passed"


async def test_function_gets_the_case_and_the_answer(function: Scored) -> None:
    """As the case file says it, and the answer to the character."""
    body = "return {'score': 1, 'reason': repr((sorted(case), case['id'], case['tags'], answer))}"
    score = await function(body, "na\u00efve \u2028\ud835")
    assert score.reason == repr((["id", "input", "references", "tags"], "q1", ["polite"], "na\u00efve \u2028\ud835"))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return None", "returned nothing"),
        ("pass", "returned nothing"),
        ("return 'good'", '"good", which is no number'),
        ("return [1]", "which is no number"),
        ("return float('nan')", "which is no number"),
        ("return object()", "which is no score"),
        ("return {}", "returned a dict of nothing"),
        ("return {'score': 1, 'm': 0}", "a score has"),
        ("return {'scor': 1, 'score': 1}", "a score has"),
        ("return {'passed': True}", "a score has"),
        ("raise ValueError('bad luck')", "raised ValueError: bad luck (own.py:3)"),
        ("sys.exit(0)", "raised SystemExit"),
        ("os._exit(0)", "not one JSON value"),
        ("os.kill(os.getpid(), 9)", "killed by signal 9"),
    ],
)
async def test_function_that_returns_no_score_leaves_the_cell_unknown(
    function: Scored, body: str, message: str
) -> None:
    """T12: nothing for an applicable answer is an error of that cell."""
    with pytest.raises(ScorerError) as caught:
        await function(body)
    assert message in str(caught.value)


async def test_function_that_hangs_or_cannot_be_imported_gives_no_score(function: Scored) -> None:
    """Its time is over; or its file breaks before it is there."""
    with pytest.raises(ScorerError, match=r"no score within 0\.5 s"):
        await function("time.sleep(600)", timeout_ms=500)
    with pytest.raises(ScorerError, match="cannot be imported: ZeroDivisionError"):
        await function("return 1", head="1 / 0\ndef grade(case, answer):")
    with pytest.raises(ScorerError, match="cannot be imported: AttributeError"):
        await function("return 1", head="def other(case, answer):")


async def test_function_sees_what_it_is_allowed_to_and_no_key_is_kept(function: Scored) -> None:
    """As a command."""
    environ = {"MY_TOKEN": KEY, "OTHER": "hidden-from-it"}
    body = "return {'score': 1, 'reason': str((os.environ.get('MY_TOKEN'), os.environ.get('OTHER')))}"
    assert (await function(body, environ=environ, env=["MY_TOKEN"])).reason == "('[secret]', None)"


@pytest.mark.parametrize(
    "settings",
    [
        {"threshold": 0.5},
        {"threshold": "1e9"},
        {"threshold": "NaN"},
        {"timeout_ms": "1000"},
        {"timeout_ms": True},
        {"timeout_ms": 0},
        {"env": "PATH"},
        {"env": [1]},
    ],
)
def test_settings_of_another_kind_in_a_plan_by_another_hand_are_refused(settings: dict[str, Any]) -> None:
    """A re-score with --run-code reads plans that no author's file stood behind; none of them crashes it."""
    for kind, make, own in (
        ("command", make_command, {"shell": "true"}),
        ("python", make_python, {"callable": "x.py:f"}),
    ):
        with pytest.raises(SpecError):
            make(Scorer(name="s", type=kind, metric="m", settings={**own, **settings}), {})


async def test_function_that_runs_is_the_one_that_stands_in_its_file(function: Scored, tmp_path: Path) -> None:
    """What Python keeps compiled beside a file, of the same time and size and of other words, is never run.

    The plan pins the file; a compiled one that is left over, or planted, is no part of it.
    """
    assert (await function("return True")).verdict == "passed"
    source = tmp_path / "own.py"
    planted = Path(py_compile.compile(str(source), doraise=True) or "")
    before = source.stat()
    source.write_text(source.read_text().replace("True", "None"))
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert planted.exists()
    scorer = Scorer(name="s", type="python", metric="m", settings={"callable": "own.py:grade"})
    with pytest.raises(ScorerError, match="returned nothing"):
        await make_python(scorer, {}).score(CASE, "x", context(tmp_path))
