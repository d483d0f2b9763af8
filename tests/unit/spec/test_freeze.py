# SPDX-License-Identifier: Apache-2.0
"""Freezing: what stands in a plan, what is committed to, and what never changes its digest."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from author_files import CASES, PLAN
from hypothesis import given
from hypothesis import strategies as st

from trialplate.errors import SpecError
from trialplate.record import canonical, codec, disclosure, log
from trialplate.record.matrix import attempt_key, narrow
from trialplate.record.values import Case, Plan
from trialplate.spec.freeze import Frozen, cases_root, freeze, plain_digest
from trialplate.spec.project import load_project
from trialplate.spec.validate import validate

Write = Callable[..., Path]
SECRET = b"a secret of thirty-two bytes....."
ECHO = 'echo: {runner: stand-in, answers: {"*": "yes"}}'
HOSTED = """\
trialplate: 1
name: hosted
test_sets: [{file: cases/a.csv}]
profiles:
  with-contract: {settings: {documents: [contract.md], temperature: 0.5}}
  from-memory: {}
models:
  m:
    runner: openai-compatible
    url: "HTTPS://API.Example.com:443/v1/"
    model: m-1
    system: "You are terse."
    secret: {env: GATEWAY_KEY}
    settings: {temperature: 1, top_p: 0.9}
    pricing: {input: 0.10, output: 0.50}
matrix:
  - {profiles: [with-contract, from-memory]}
repeats: 2
scorers:
  right: {type: contains}
  word: {type: contains, value: yes, metric: word, cases: {tag: critical}}
  shape: {type: regex, pattern: "^(yes|no)$", flags: [multiline, ignorecase]}
pass_mark:
  rules: [{id: right, at_least: 0.90, of: right, basis: estimate}, {id: critical, must_pass: {tag: critical}}]
"""


def frozen(root: Path, secret: bytes = SECRET, **options: Any) -> Frozen:
    """Return the plan of a project."""
    return freeze(load_project(root), secret, **options)


def hosted(project_at: Write, old: str = "", new: str = "") -> Frozen:
    """Return the plan of the hosted project, with one text replaced."""
    return frozen(project_at(HOSTED.replace(old, new) if old else HOSTED, {"contract.md": "Sixty days.\n"}))


def refusal(root: Path, **options: Any) -> SpecError:
    """Return the error that freezing ends in."""
    with pytest.raises(SpecError) as caught:
        frozen(root, **options)
    assert caught.value.hint
    return caught.value


def test_plan_is_canonical_decodes_and_its_digest_is_that_of_its_bytes(project_at: Write) -> None:
    """What is written is what a verifier reads back."""
    made = hosted(project_at)
    value = canonical.decode(made.raw)
    assert codec.decode(Plan, value) == made.plan
    assert made.digest == canonical.digest(made.raw)


def test_same_files_and_secret_give_the_same_bytes_and_another_secret_others(project_at: Write) -> None:
    """Nothing of a clock, a machine or chance is in a plan."""
    root = project_at()
    assert frozen(root).raw == frozen(root).raw
    assert frozen(root).raw != frozen(root, secret=b"another").raw


def test_private_plan_holds_no_text_and_its_openings_open_every_commitment(project_at: Write) -> None:
    """Inputs, references, documents, prompts, patterns and values stand in the plan as commitments only."""
    made = hosted(project_at)
    for text in ("Is it", "Sixty", "terse", "yes", "maybe"):
        assert text.encode() not in made.raw.replace(b"trialplate", b"")
    commitments = {disclosure.commit(opening.salt, opening.value) for opening in made.openings.values()}
    named = {item for case in made.plan.test_set.cases for item in (case.commitment, case.asked)}
    for texts in [item.texts for item in made.plan.configurations] + [item.texts for item in made.plan.scorers]:
        named |= {text.commitment for text in texts}
    assert named == commitments
    values = [opening.value for opening in made.openings.values()]
    assert "Sixty days.\n" in values
    assert {"id": "q1", "input": "Is it?", "references": ["yes"], "tags": ["critical"]} in values


def test_root_is_taken_over_commitments_in_order_of_id_by_utf16(project_at: Write) -> None:
    """RFC 6962 over the commitments, ids sorted as RFC 8785 sorts keys: U+10000 before U+FF21."""
    ids = ["\uff21", "b", "\U00010000", "a"]
    rows = "".join(f"{name},Is it {number}?,yes,\n" for number, name in enumerate(ids))
    made = frozen(project_at(files={"cases/a.csv": f"id,input,reference,tags\n{rows}"}))
    by_id = {case.id: case.commitment.encode() for case in made.plan.test_set.cases}
    expected = log.root_of(by_id[name] for name in ("a", "b", "\U00010000", "\uff21"))
    assert made.plan.test_set.root == f"sha256:{expected.hex()}"
    assert [case.id for case in made.plan.test_set.cases] == ids


_CASES = st.lists(
    st.builds(
        Case,
        id=st.text(min_size=1, max_size=4).filter(lambda text: text.isprintable()),
        input=st.text(min_size=1, max_size=5),
        references=st.lists(st.text(max_size=3), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda case: case.id,
)


@given(_CASES.flatmap(lambda cases: st.tuples(st.just(cases), st.permutations(cases))))
def test_order_of_cases_changes_neither_digest_nor_root(pair: tuple[Sequence[Case], Sequence[Case]]) -> None:
    """Re-ordering a file does not make another test set."""
    first, second = pair
    assert plain_digest(first) == plain_digest(second)

    def root(cases: Sequence[Case]) -> str:
        return cases_root({case.id: disclosure.commit("s" * 22, codec.to_json(case)) for case in cases})

    assert root(first) == root(second)


@given(_CASES, st.sampled_from(["id", "input", "references", "tags", "suite", "meta"]))
def test_change_of_any_field_of_a_case_changes_the_digest(cases: list[Case], name: str) -> None:
    """Tags and meta are in it too: rules select by them."""
    new: dict[str, Any] = {
        "id": "a new id",
        "input": "a new input",
        "references": ("a new one",),
        "tags": ("new",),
        "suite": "new",
        "meta": {"new": 1},
    }
    changed = [cases[0].replace(**{name: new[name]}), *cases[1:]]
    assert plain_digest(changed) != plain_digest(cases)


def test_splitting_a_test_set_over_files_keeps_root_and_digest(project_at: Write) -> None:
    """The set is what matters, not the files it stands in, nor their form."""
    whole = frozen(project_at())
    lines = [
        {"id": "q2", "input": "Is it not?", "expected": "no"},
        {"id": "q1", "input": "Is it?", "references": ["yes"], "tags": ["critical"]},
    ]
    files = {f"cases/{n}.jsonl": json.dumps(line) for n, line in enumerate(lines)}
    split = frozen(
        project_at(PLAN.replace("{file: cases/a.csv}", "{file: cases/0.jsonl}, {file: cases/1.jsonl}"), files)
    )
    assert split.plan.test_set.root == whole.plan.test_set.root
    assert [case.id for case in split.plan.test_set.cases] == ["q2", "q1"]
    assert (whole.plan.test_set.name, split.plan.test_set.name) == ("a", "0+1")


def test_public_set_stands_in_the_open_with_its_plain_digest(project_at: Write) -> None:
    """Openings and digest are there for public sets only, and open to the same commitments."""
    private = frozen(project_at())
    public = frozen(project_at(PLAN.replace("a.csv}", "a.csv, visibility: public, version: 2026-11}")))
    assert private.plan.test_set.digest is None
    assert all(case.opening is None for case in private.plan.test_set.cases)
    assert public.plan.test_set.root == private.plan.test_set.root
    assert public.plan.test_set.version == "2026-11"
    found = [case.opening.value for case in public.plan.test_set.cases if case.opening]
    assert [case["input"] for case in found] == ["Is it?", "Is it not?"]
    expected = {"schema": "trialplate/test-set/1", "cases": found}
    assert public.plan.test_set.digest == canonical.digest_value(expected)


def test_mixed_visibility_is_refused(project_at: Write) -> None:
    """A merged set is public or private as a whole."""
    plan = PLAN.replace("{file: cases/a.csv}", "{file: cases/a.csv}, {file: cases/b.csv, visibility: public}")
    assert "public" in refusal(project_at(plan, {"cases/b.csv": "id,input,reference\nq3,x,y\n"})).message


def test_profile_overlays_settings_key_by_key(project_at: Write) -> None:
    """A profile's value wins, the model's others stay; documents and system prompt become texts in order."""
    first, second = hosted(project_at).plan.configurations
    assert (first.name, second.name) == ("m/with-contract", "m/from-memory")
    assert dict(first.settings) == {"temperature": 0.5, "top_p": 0.9}
    assert dict(second.settings) == {"temperature": 1, "top_p": 0.9}
    assert [(text.role, text.name) for text in first.texts] == [("system", ""), ("document", "contract.md")]
    assert [text.role for text in second.texts] == ["system"]
    assert first.texts[0] == second.texts[0]


def test_configuration_is_named_after_its_model_where_the_only_profile_is_default(project_at: Write) -> None:
    """A name holds a profile only where there is a choice."""
    assert [item.name for item in frozen(project_at()).plan.configurations] == ["echo"]
    both = PLAN.replace(
        "repeats: 2", "profiles: {default: {}, ci: {}}\nmatrix: [{profiles: [default, ci]}]\nrepeats: 2"
    )
    names = [item.name for item in frozen(project_at(both)).plan.configurations]
    assert names == ["echo/default", "echo/ci"]


def test_spelling_of_an_address_does_not_reset_the_attempts(project_at: Write) -> None:
    """A slash, a default port or capitals in a host are the same endpoint; another path is not."""
    known = hosted(project_at).plan.configurations[0]
    assert known.endpoint == "https://api.example.com/v1"
    for url in ("https://api.example.com/v1", "https://api.example.com:443/v1//"):
        other = hosted(project_at, "HTTPS://API.Example.com:443/v1/", url).plan.configurations[0]
        assert attempt_key(other) == attempt_key(known)
    other = hosted(project_at, "com:443/v1/", "com/v2").plan.configurations[0]
    assert attempt_key(other) != attempt_key(known)


def test_every_default_of_a_scorer_is_written_out(project_at: Write) -> None:
    """A later version with other defaults scores an old plan as before."""
    settings = {item.name: dict(item.settings) for item in hosted(project_at).plan.scorers}
    assert settings["right"] == {"case_sensitive": True}
    assert settings["shape"] == {"flags": ["ignorecase", "multiline"]}
    exact = frozen(project_at()).plan.scorers[0]
    assert dict(exact.settings) == {
        "case": "keep",
        "trim": "outer",
        "whitespace": "keep",
        "unicode": "NFC",
        "punctuation": "keep",
    }


def test_command_is_pinned_and_what_cannot_be_is_told(project_at: Write) -> None:
    """A change of the script is another thing under test; the interpreter is listed in words."""
    line = "echo: {runner: command, argv: [python3, bot.py], env: [B, A], pricing: free}"
    root = project_at(PLAN.replace(ECHO, line), {"bot.py": "x = 1\n"})
    first = frozen(root).plan
    (configuration,) = first.configurations
    assert dict(configuration.settings) == {"argv": ["python3", "bot.py"], "env": ["A", "B"]}
    assert [file.path for file in configuration.files] == ["bot.py"]
    assert "echo: the program python3" in first.unpinned
    (root / "bot.py").write_text("x = 2\n")
    assert attempt_key(frozen(root).plan.configurations[0]) != attempt_key(configuration)
    assert "https://api.example.com/v1" in hosted(project_at).plan.unpinned[0]


def test_secret_is_a_name_and_enters_no_attempt_key(project_at: Write) -> None:
    """Another key is not another model."""
    first = hosted(project_at).plan.configurations[0]
    second = hosted(project_at, "GATEWAY_KEY", "OTHER_KEY").plan.configurations[0]
    assert (first.secret, second.secret) == ("GATEWAY_KEY", "OTHER_KEY")
    assert attempt_key(first) == attempt_key(second)


def test_matrix_lines_select_cases_and_repeats(project_at: Write) -> None:
    """Each line is its models x its profiles x its cases x its repeats."""
    plan = PLAN.replace("repeats: 2", "matrix: [{models: [echo], cases: {tag: critical}, repeats: 5}]\nrepeats: 2")
    error = refusal(project_at(plan))
    assert 'echo stays inconclusive by rule "right", which is about 2 cases, of which it is asked 1' in error.message
    made = frozen(project_at(plan.replace("of: right,", "of: right, where: {tag: critical},")))
    assert narrow(made.plan, None).counts == {"echo": [5, 0]}
    assert any('such as "q2"' in warning for warning in made.warnings)


def test_replay_pins_the_cassettes_and_needs_one(project_at: Write) -> None:
    """What a replay reads is in the plan before it is read; the command line wins over the file."""
    root = project_at(files={"cassettes/a.jsonl": "{}\n"})
    assert frozen(root).plan.cassettes == ()
    made = frozen(root, cache="replay")
    assert [file.path for file in made.plan.cassettes] == ["cassettes/a.jsonl"]
    assert any("decides nothing" in warning for warning in made.warnings)
    (root / "cassettes/a.jsonl").unlink()
    assert "nothing to replay" in refusal(root, cache="replay").message


@pytest.mark.parametrize(
    ("old", "new", "words", "hint"),
    [
        ("of: right", "of: rihgt", 'no scorer gives "rihgt"', 'did you mean "right"?'),
        ("rules: [", "rules: [{id: right, must_pass: all}, ", 'two rules have the id "right"', ""),
        ("rules: [", "rules: [{id: c, must_pass: {tag: crticial}}, ", "selects no case", 'did you mean "critical"?'),
        (
            "rules: [",
            "rules: [{id: c, must_pass: {id: q9}}, ",
            "selects no case",
            "check the ids of the cases; there are q1",
        ),
        ("rules: [", "rules: [{id: c, must_pass: {id: [q1, q9]}}, ", 'names the case "q9"', "check the ids"),
        ("rules: [", "rules: [{id: c, must_pass: {tag: zzz}}, ", "selects no case", "check the tags of the cases"),
        ("basis: estimate}", "basis: estimate, where: {tag: critical, id: q2}}", "selects no case", "at once"),
        ("basis: estimate}", "basis: estimate, where: {suite: x}}", "selects no case", ""),
        ("rules:", "evidence: {cases: {at_least: 3}}\n  rules:", "wants at least 3, and this plan has 2", "add cases"),
        (
            "rules:",
            "evidence: {repeats: {at_least: 3}}\n  rules:",
            "wants at least 3, and this plan has 2",
            "add repeats",
        ),
        ("{type: exact}", "{type: exact, metric: trial_pass_rate}", "is always there", ""),
        ("right: {type: exact}", "right: {type: exact}\n  two: {type: exact, metric: right}", "both give", ""),
        ("{type: exact}", "{type: exact, cases: {tag: critical}}", 'no scorer applies to 1 of 2 cases: "q2"', ""),
        ("{type: exact}", '{type: regex, pattern: "("}', "no regular expression", ""),
        ("{type: exact}", '{type: regex, pattern: "x*"}', "matches an empty text", ""),
        ("repeats: 2", "matrix: [{models: [ecko]}]\nrepeats: 2", 'there is no model "ecko"', 'did you mean "echo"?'),
        ("repeats: 2", "matrix: [{profiles: [ci]}]\nrepeats: 2", 'there is no profile "ci"', ""),
        ("repeats: 2", "matrix: [{cases: {tag: x}}]\nrepeats: 2", "this line selects no case", ""),
        ('answers: {"*": "yes"}', "role: comparison, answers: {q1: a, q2: b}", "every model has role: comparison", ""),
        ('{"*": "yes"}', "{q3: yes}", 'answers case "q3", which is not there', ""),
        ('{"*": "yes"}', "{q1: [{txt: yes}]}", "an answer is a text", ""),
        ('{"*": "yes"}', "{q1: {text: yes, tokens: 3}}", 'unknown key "tokens"', ""),
        ('{"*": "yes"}', "{q1: {attempts: []}}", "no list of answers", ""),
        ('{"*": "yes"}', "{}", "a script is", ""),
    ],
)
def test_parts_that_do_not_fit_are_refused(project_at: Write, old: str, new: str, words: str, hint: str) -> None:
    """A plan that could never decide, or for a wrong reason, is told before anything is committed."""
    assert old in PLAN
    error = refusal(project_at(PLAN.replace(old, new)))
    assert (words in error.message, hint in error.hint) == (True, True), (error, error.hint)
    assert error.where


@pytest.mark.parametrize(
    ("file", "cases", "hint"),
    [
        ("a.csv", "id,input,reference,labels\nq1,Is it?,yes,critical;a\n", 'keep "labels" in meta'),
        ("a.jsonl", '{"input": "Is it?", "reference": "yes", "meta": {"tag": "x"}}', 'keep "tag" in meta'),
        ("a.jsonl", '{"input": "Is it?", "reference": "yes", "meta": {"kinds": ["critical"]}}', 'keep "kinds" in meta'),
        ("a.csv", "id,input,reference,source\nq1,Is it?,yes,page 3\n", "there are none"),
    ],
)
def test_rule_whose_tags_stand_in_meta_is_told_where_they_are(
    project_at: Write, file: str, cases: str, hint: str
) -> None:
    """A lost column must not end in a lost rule."""
    plan = PLAN.replace("rules: [", "rules: [{id: critical, must_pass: {tag: critical}}, ").replace("a.csv", file)
    error = refusal(project_at(plan, {f"cases/{file}": cases}))
    assert error.message == 'rule "critical" selects no case'
    assert (hint in error.hint, "check the tags" in error.hint) == (True, True), error.hint
    assert "remove" not in error.hint
    assert ("meta" in error.hint) == ("meta" in hint)


@pytest.mark.parametrize("place", ["id", "tag", "subject", "command"])
def test_private_text_in_the_public_plan_is_refused_before_anything_is_committed(project_at: Write, place: str) -> None:
    """A question that repeats itself in a name or a setting is found by validating; in a public set it is none."""
    question = "What is the capital of France?"
    cases = {
        "id": f"id,input,reference\n{question},{question},Paris\n",
        "tag": f"id,input,reference,tags\nq1,{question},Paris,{question}\n",
    }.get(place, f"id,input,reference\nq1,{question},Paris\n")
    plan = {
        "subject": PLAN.replace("stand-in,", f'stand-in, subject: "bot for {question}",'),
        "command": PLAN.replace(ECHO, f"echo: {{runner: command, argv: [echo, '{question}']}}"),
    }.get(place, PLAN)
    root = project_at(plan, {"cases/a.csv": cases})
    with pytest.raises(SpecError) as caught:
        validate(root)
    assert caught.value.code == refusal(root).code == "PRIVATE-TEXT-PUBLIC"
    project_at(plan.replace("a.csv}", "a.csv, visibility: public}"), {"cases/a.csv": cases})
    assert validate(root).visibility == "public"


@pytest.mark.parametrize(
    ("scorer", "line", "words"),
    [
        ("{type: exact}", '{"input": "q"}', "has no reference"),
        ("{type: contains}", '{"input": "q"}', "has no reference"),
        ("{type: contains}", '{"input": "q", "references": ["a", " "]}', "is blank"),
        ("{type: exact}", '{"input": "q", "expected": ""}', "is blank"),
    ],
)
def test_reference_that_decides_nothing_is_refused_at_its_case(
    project_at: Write, scorer: str, line: str, words: str
) -> None:
    """An empty accepted answer is in every answer."""
    plan = PLAN.replace("{type: exact}", scorer).replace("a.csv", "a.jsonl")
    error = refusal(project_at(plan, {"cases/a.jsonl": line}))
    assert (error.where, words in error.message) == ("cases/a.jsonl:1", True), error


def test_reference_that_is_no_text_is_a_warning(project_at: Write) -> None:
    """It is compared as its JSON, which an author may not expect."""
    plan = PLAN.replace("a.csv", "a.jsonl")
    (warning,) = frozen(project_at(plan, {"cases/a.jsonl": '{"input": "q", "expected": 125.5}'})).warnings
    assert warning.startswith("cases/a.jsonl:1: a reference of case")


def test_scorer_with_a_value_of_its_own_needs_no_reference(project_at: Write) -> None:
    """A value or a pattern says what is right by itself."""
    plan = PLAN.replace("{type: exact}", "{type: contains, value: refund}").replace("a.csv", "a.jsonl")
    assert frozen(project_at(plan, {"cases/a.jsonl": '{"input": "q"}'})).plan.scorers[0].texts[0].role == "value"


def test_profile_with_settings_for_a_command_is_refused(project_at: Write) -> None:
    """Settings that nothing reads would look as if they had been used."""
    plan = PLAN.replace(ECHO, "echo: {runner: command, shell: cat}").replace(
        "repeats: 2", "profiles: {ci: {settings: {temperature: 0}}}\nmatrix: [{profiles: [ci]}]\nrepeats: 2"
    )
    assert "takes none" in refusal(project_at(plan)).message


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("repeats: 2", "matrix: [{models: [echo]}]\nrepeats: 2", ""),
        ("at_least: 0.90", "at_least: 0", "holds whatever the answers are"),
        ("repeats: 2", "profiles: {idle: {}}\nrepeats: 2", "profile idle is in no line"),
        ("rules: [", "rules: [{id: c, must_pass: {tag: [critical, zzz]}}, ", 'the tag "zzz", which no case has'),
        ("right: {type: exact}", "right: {type: exact}\n  idle: {type: exact, cases: {tag: x}}", "applies to no case"),
        (ECHO, 'echo: {runner: command, argv: [echo, a, "&&", "b$HOME"]}', "no shell reads argv"),
    ],
)
def test_what_is_probably_not_meant_is_a_warning(project_at: Write, old: str, new: str, words: str) -> None:
    """It is allowed, and told with its place."""
    warnings = frozen(project_at(PLAN.replace(old, new))).warnings
    assert bool(words) == bool(warnings)
    assert all(words in warning and warning.startswith("trialplate.yaml:") for warning in warnings)


def test_rule_that_some_candidate_cannot_meet_is_a_warning(project_at: Write) -> None:
    """A candidate that is never asked a critical case stays inconclusive, and is told so."""
    plan = PLAN.replace(ECHO, f'{ECHO}\n  other: {{runner: stand-in, answers: {{"*": "no"}}}}')
    plan = plan.replace("repeats: 2", "matrix: [{models: [echo]}, {models: [other], cases: {id: q2}}]\nrepeats: 2")
    plan = plan.replace("rules: [", "rules: [{id: c, must_pass: {tag: critical}}, ")
    critical, right = frozen(project_at(plan)).warnings
    assert 'other stays inconclusive by rule "c", which is about 1 case, of which it is asked none' in critical
    assert 'other stays inconclusive by rule "right", which is about 2 cases, of which it is asked 1' in right


def test_validate_counts_what_there_is_and_names_what_a_run_needs(project_at: Write) -> None:
    """Counts per tag, trials, digests, names of secrets; nothing is run or written."""
    root = project_at(HOSTED, {"contract.md": "Sixty days."})
    before = sorted(root.rglob("*"))
    told = validate(root / "trialplate.yaml")
    assert (told.cases, told.trials, told.tags) == (2, 8, {"(untagged)": 1, "critical": 1})
    assert told.scorers == {"right": 2, "word": 1, "shape": 2}
    assert told.secrets == ("GATEWAY_KEY",)
    assert told.digest == plain_digest(load_project(root).cases)
    assert told.pass_mark == canonical.digest_value(codec.to_json(frozen(root).plan.pass_mark))
    assert told.pinned == {}
    assert sorted(root.rglob("*")) == before
    assert CASES.count("\n") == 3


def test_validate_names_every_pinned_file_with_its_digest(project_at: Write) -> None:
    """What a command names, once, and the cassettes of a replay: what the plan holds fast is seen beside what it does not."""
    models = "a: {runner: command, shell: sh bot.sh}\n  b: {runner: command, argv: [sh, bot.sh, --data=d/x.json]}"
    plan = PLAN.replace(ECHO, models) + "run: {cache: replay}\n"
    files = {"bot.sh": "cat\n", "d/x.json": "{}", "cassettes/a.jsonl": "{}\n"}
    told = validate(project_at(plan, files))
    assert told.pinned == {name: canonical.digest(text.encode()) for name, text in sorted(files.items())}
    assert list(told.pinned) == ["bot.sh", "cassettes/a.jsonl", "d/x.json"]
