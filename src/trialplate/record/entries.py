# SPDX-License-Identifier: Apache-2.0
"""What the entries of a ledger and of a record hold, as frozen values: the table of entry types is at the end.

Like those of `values`, these classes are the one definition of their formats; units are in the names: `_ms`
milliseconds, `nano` 10^-9 of a currency unit.

Source: docs/formats/ledger.md, docs/formats/record.md.
"""

# Annotations are evaluated here, once, as in `values`.
from collections.abc import Mapping
from typing import Annotated, Literal, get_args

from trialplate.record.decisions import Decision
from trialplate.record.frozen import Json, Pattern, Value
from trialplate.record.values import (
    CacheMode,
    CaseId,
    Commitment,
    ConfigurationName,
    Count,
    Currency,
    Digest,
    EntryRef,
    KeyLine,
    Name,
    Origin,
    PassMark,
    Positive,
    RunId,
    Short,
    Time,
)

# --------------------------------------------------------------------------------------------------------- ledger


class Entry(Value):
    """One line of a log, its body still undecoded."""

    v: Literal[1] = 1
    seq: Count
    time: Time
    type: Name
    body: Mapping[str, Json]
    by: tuple[str, ...] = ()
    """Signature lines of approvers over the body's digest."""


class Genesis(Value):
    """`log.genesis`, the first entry of a ledger."""

    format: Literal["trialplate-ledger/1"] = "trialplate-ledger/1"
    origin: Origin
    key: KeyLine
    secret: Digest
    """Commitment to the secret from which salts are made."""
    continues: tuple[str, ...] = ()
    """Checkpoints of earlier logs of the same project."""


class CommitTestSet(Value):
    """`commit.testset`."""

    name: Name
    version: Short | None = None
    cases: Positive
    root: Digest
    digest: Digest | None = None


class CommitPassMark(Value):
    """`commit.passmark`: the mark itself, its digest, and the test set it is for."""

    digest: Digest
    mark: PassMark
    test_set: EntryRef
    supersedes: EntryRef | None = None
    reason: str | None = None


class RunConfiguration(Value):
    """A configuration as `run.start` names it."""

    name: ConfigurationName
    digest: Digest
    attempt_key: Digest


class Narrowing(Value):
    """How a pilot is less than its plan."""

    limit: Positive | None = None
    only: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    repeats: Positive | None = None


class RunStart(Value):
    """`run.start`: durable before the first call."""

    run_id: RunId
    plan: Digest
    test_set: EntryRef
    pass_mark: EntryRef
    selection: Literal["full", "pilot"]
    narrowing: Narrowing | None = None
    trials: Positive
    configurations: tuple[RunConfiguration, ...]
    cache: CacheMode
    cassettes: tuple[Digest, ...] = ()


class Pin(Value):
    """`run.progress` and `run.resume`: the record had this size and this root at that moment."""

    run_id: RunId
    size: Positive
    root: Digest


class Counts(Value):
    """Trials by outcome; `absent` is planned less those with a final attempt."""

    planned: Count
    passed: Count
    failed: Count
    limit: Count
    needs_input: Count
    error: Count
    skipped: Count
    absent: Count
    attempts: Count
    replayed: Count
    reasked: Count


class RunEnd(Value):
    """`run.end`: the closed record's size and root."""

    run_id: RunId
    size: Positive
    root: Digest
    status: Literal["complete", "incomplete"]
    counts: Counts


class Waiver(Value):
    """`waiver`: a signed statement that one run does not count."""

    run_id: RunId
    reason: Annotated[str, Pattern("[^\\u0000-\\u001f\\u007f-\\u009f]{1,1000}")]


class BaselineSet(Value):
    """`baseline`: from now on this run is what rules on a baseline compare with, where a plan names no other."""

    run_id: RunId
    size: Positive
    root: Digest
    configuration: ConfigurationName | None = None


class JudgeSheet(Value):
    """`judge.sample`: which answers are to be graded, logged before anybody grades one.

    The answers follow from the record's root and the count (`rules.judging`), so nobody chooses them.
    """

    run_id: RunId
    size: Positive
    root: Digest
    """Of the record from which it was drawn."""
    scorer: Name
    judge: Digest
    """`judge_key`: the model, the rules and the words of the judge."""
    count: Positive
    population: Positive
    stratify: bool = False


class JudgeCheck(Value):
    """`judge.check`: what one person found, aligned with the answers of a logged sheet."""

    sheet: EntryRef
    """The judge.sample entry."""
    judge: Digest
    grader: Short
    grades: tuple[str, ...]
    """A verdict for each answer, in the order in which they were drawn; "" for one that was not graded."""


# --------------------------------------------------------------------------------------------------------- record


class StartProof(Value):
    """The run.start entry as it stands in the ledger, and the proof that the signed ledger held it."""

    entry: str
    note: str
    proof: tuple[Digest, ...]


class Environment(Value):
    """An allow-list: no host, user or path."""

    trialplate: Short
    python: Short
    platform: Short
    commit: Annotated[str, Pattern(r"[0-9a-f]{40,64}")] | None = None
    dirty: bool | None = None
    packages: Mapping[str, Short] = {}


class RunOpen(Value):
    """`run.open`, the first entry of a record."""

    format: Literal["trialplate-record/1"] = "trialplate-record/1"
    run_id: RunId
    start: StartProof
    plan: Digest
    seed: Digest
    """SHA-256 of the run.start line: fixed only once the marks are committed."""
    environment: Environment


TrialKey = tuple[str, str, int]
"""(configuration, case id, repeat 1..N)"""


class TrialStart(Value):
    """`trial.start`: written before anything is sent."""

    trial: tuple[ConfigurationName, CaseId, Positive]
    attempt: Positive


class Usage(Value):
    """Tokens as the far end counted them: `cache_read`, `cache_write` are parts of input, `reasoning` of output."""

    input: Count | None = None
    output: Count | None = None
    cache_read: Count | None = None
    cache_write: Count | None = None
    reasoning: Count | None = None
    declared: bool = False
    """The thing under test counted its own tokens."""
    cost_nano: Count | None = None
    """What the thing under test says it cost, in 10^-9 USD."""


class Money(Value):
    """An amount in 10^-9 of the currency's unit."""

    nano: Count
    currency: Currency


class Call(Value):
    """One exchange with a far end: the digest of the request, and whether the reply came from a cassette."""

    digest: Digest
    replayed: bool = False


class Private(Value):
    """Commitments of what a trial produced; each may be opened alone."""

    answer: Commitment | None = None
    transcript: Commitment | None = None
    error: Commitment | None = None
    reason: Commitment | None = None
    """What the scorers said."""
    replies: Mapping[Name, tuple[Commitment, ...]] = {}
    """What helpers replied to each scorer, in the order in which they were asked; of earlier attempts too."""
    served: Commitment | None = None
    """The served model's name where it is no short printable ASCII."""

    @property
    def commitments(self) -> Mapping[str, str]:
        """Return all of them by what they are of; replies are numbered."""
        plain = {name: item for name, item in self.__dict__.items() if isinstance(item, str)}
        for scorer, items in self.replies.items():
            plain |= {f"{scorer} reply {number}": item for number, item in enumerate(items, 1)}
        return plain


Outcome = Literal["passed", "failed", "limit", "needs_input", "error", "skipped"]
OUTCOMES: tuple[str, ...] = get_args(Outcome)
DECIDED: frozenset[str] = frozenset({"passed", "failed", "limit", "needs_input"})
"""Outcomes that are known; `error` and `skipped` leave a trial's cells unknown."""

OwnCause = Literal[
    "empty",
    "refusal",
    "truncated",
    "rejected_request",
    "http_status",
    "exit_status",
    "closed_connection",
    "timeout",
    "bad_reply",
    "too_long",
    "bad_format",
    "max_turns",
]
"""Causes of a failure that may be the model's own (`failed`, `limit`) or its host's (`error`), as the outcome says."""
HarnessCause = Literal[
    "refused_connection",
    "transport",
    "rate_limited",
    "server_error",
    "authentication",
    "not_started",
    "scorer",
    "replay_miss",
    "wrong_model",
    "incompatible",
    "budget",
    "interrupted",
    "lost",
]
"""Causes that lie with the infrastructure or with us: always `error`."""
Cause = Literal[OwnCause, HarnessCause]


class TrialEnd(Value):
    """`trial.end`: how one attempt ended. A trial's outcome is that of its last attempt."""

    trial: tuple[ConfigurationName, CaseId, Positive]
    attempt: Positive
    outcome: Outcome
    cause: Cause | None = None
    status: int | None = None
    """HTTP status or exit status, as it was."""
    retry: bool = False
    """This attempt will be followed by another."""
    ended_by: Literal["model", "harness"] = "model"
    metrics: Mapping[str, float] = {}
    unknown: Mapping[str, Cause] = {}
    said: Mapping[Name, Count] = {}
    """The number of the label that was answered, where a rule is about macro-F1; absent: none of them."""
    verdict: Literal["passed", "failed"] | None = None
    usage: Usage | None = None
    cost: Money | None = None
    latency_ms: Count = 0
    """The far end's time for this attempt; as recorded, for a replayed one."""
    wall_ms: Count = 0
    received: Count = 0
    """Bytes of answer that had arrived."""
    answer_of: Positive | None = None
    """The earlier attempt whose answer was scored again; nobody was asked."""
    finish: Short | None = None
    served: Short | None = None
    requests: tuple[Short, ...] = ()
    """Request ids of the far end."""
    calls: tuple[Call, ...] = ()
    helper_calls: tuple[Call, ...] = ()
    helper_usage: Usage | None = None
    helper_cost: Money | None = None
    """Of all helper calls together; absent where there was none, or one whose cost is unknown."""
    private: Private = Private()


class RunReopen(Value):
    """`run.reopen`: a resumed record, with the number of lines beyond the checkpoint that were taken over."""

    adopted: Count
    reason: Name
    """How the session before it ended."""
    environment: Environment | None = None
    """Of the session that begins here."""


class NotNeeded(Value):
    """Trials of one configuration that a stop rule left out: all of the cases after the first `cases` in its order."""

    configuration: ConfigurationName
    cases: Count
    trials: Positive


class RunClose(Value):
    """`run.close`: nothing follows, unless the run is reopened."""

    complete: bool
    reason: Name
    counts: Counts
    not_needed: tuple[NotNeeded, ...] = ()
    """What the mark's stop rule left out; these trials are absent, and the run is complete without them."""


LEDGER_TYPES: Mapping[str, type] = {
    "log.genesis": Genesis,
    "commit.testset": CommitTestSet,
    "commit.passmark": CommitPassMark,
    "run.start": RunStart,
    "run.progress": Pin,
    "run.resume": Pin,
    "run.end": RunEnd,
    "waiver": Waiver,
    "baseline": BaselineSet,
    "decision": Decision,
    "judge.sample": JudgeSheet,
    "judge.check": JudgeCheck,
}
RECORD_TYPES: Mapping[str, type] = {
    "run.open": RunOpen,
    "trial.start": TrialStart,
    "trial.end": TrialEnd,
    "run.reopen": RunReopen,
    "run.close": RunClose,
}
