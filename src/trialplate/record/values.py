# SPDX-License-Identifier: Apache-2.0
"""What stands in a plan, as frozen values, and the forms that fields of every format have.

These classes are the one definition of the formats: `codec` decodes them strictly, `spec.schemas` derives the JSON
Schemas from them. A field whose default is `None` or empty may be absent and is then never written. Units are in the
names: `_ms` milliseconds, `nano` 10^-9 of a currency unit. Texts stand here only as commitments (see `disclosure`).

What a ledger and a record hold is in `entries`.

Source: docs/formats/plan.md.
"""

# Annotations are evaluated here, once: as strings each would be compiled again by `codec`, 25 ms at every start.
from collections.abc import Mapping
from typing import Annotated, Literal

from trialplate.record.frozen import AtLeast, Json, Pattern, Value

Digest = Annotated[str, Pattern(r"sha256:[0-9a-f]{64}")]
Commitment = Annotated[str, Pattern(r"[A-Za-z0-9_-]{43}")]
Time = Annotated[str, Pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")]
RunId = Annotated[str, Pattern(r"[0-9]{8}T[0-9]{9}Z-[0-9a-f]{8}")]
Name = Annotated[str, Pattern(r"[A-Za-z0-9][A-Za-z0-9._:@+-]{0,63}")]
ConfigurationName = Annotated[str, Pattern(r"[A-Za-z0-9][A-Za-z0-9._:@+/-]{0,128}")]
CaseId = Annotated[str, Pattern("[^\\u0000-\\u001f\\u007f-\\u009f]{1,128}")]
Short = Annotated[str, Pattern(r"[ -~]{1,128}")]
Origin = Annotated[str, Pattern(r"[!-*,-~]{1,200}")]
KeyLine = Annotated[str, Pattern(r"[!-*,-~]{1,200}\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}")]
Currency = Annotated[str, Pattern(r"[A-Z]{3}")]
DecimalText = Annotated[str, Pattern(r"(0|[1-9][0-9]{0,11})(\.[0-9]{1,12})?")]
SignedText = Annotated[str, Pattern(r"-?(0|[1-9][0-9]{0,11})(\.[0-9]{1,12})?")]
Quantity = Annotated[str, Pattern(r"[A-Za-z0-9][A-Za-z0-9._:@+-]{0,95}")]
"""What a rule is about: a metric, a rate, or a quantity of another kind, `KIND:WHAT` (`rules.quantities`)."""
Salt = Annotated[str, Pattern(r"[A-Za-z0-9_-]{22,64}")]
Count = Annotated[int, AtLeast(0)]
Positive = Annotated[int, AtLeast(1)]
CacheMode = Literal["off", "live", "replay", "auto"]


class EntryRef(Value):
    """Another entry of the same log: its number and the SHA-256 of its line."""

    seq: Count
    digest: Digest


# ---------------------------------------------------------------------------------------------------------- cases


class CaseFile(Value):
    """A file that belongs to a case, by the digest of its bytes. Where it lies is not part of it."""

    name: CaseId
    """What the file is called to a model."""
    type: Short
    """Its media type."""
    digest: Digest
    access: tuple[Literal["native", "local"], ...] = ("native", "local")
    """How a model gets at it: in the request, by a tool."""
    image_detail: Literal["auto", "low", "medium", "high", "original"] | None = None


class CaseTool(Value):
    """A tool that a case offers to the model."""

    name: Name
    max_calls: Positive | None = None
    timeout_ms: Positive = 60_000


CaseKind = Literal["prompt", "trace"]


class Case(Value):
    """One thing to solve, with every field that can change a prompt, a score or the decision."""

    id: CaseId
    kind: CaseKind = "prompt"
    input: str
    """Empty for a trace, which was asked elsewhere."""
    answer_format: str | None = None
    """How the answer is to be given, in words."""
    answer_schema: Mapping[str, Json] | None = None
    """JSON Schema of the answer, which is then a value and no text."""
    max_turns: Positive | None = None
    """Replies of the model in one attempt, with those that call tools."""
    tools: tuple[CaseTool, ...] = ()
    trace: Digest | None = None
    """Of the bytes of a recorded agent run."""
    references: tuple[Json, ...] = ()
    """The accepted answers, any of which will do."""
    tags: tuple[str, ...] = ()
    """Sorted by UTF-16 code unit, each once."""
    suite: str | None = None
    meta: Mapping[str, Json] = {}
    context: tuple[str, ...] = ()
    """Passages that scorers see and models never do."""
    files: tuple[CaseFile, ...] = ()

    @property
    def asked(self) -> Json:
        """Return what tells one question from another: the input, with the digests of the files that it is about.

        A trace without an input asks what its id stands for: a second recording is no second question.
        """
        if self.trace is not None and not self.input:
            return {"id": self.id, "input": ""}
        return {"input": self.input, "files": [file.digest for file in self.files]} if self.files else self.input


class Selector(Value):
    """Which cases something applies to: every field given must match; a list matches by any of its values."""

    tag: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    suite: tuple[str, ...] = ()
    id: tuple[str, ...] = ()


class Opening(Value):
    """What opens a commitment: `commitment == disclosure.commit(salt, value)`."""

    salt: Salt
    value: Json


# ----------------------------------------------------------------------------------------------------------- plan


class PlanCase(Value):
    """A case as it stands in a plan: what rules select by is visible, its texts are a commitment."""

    id: CaseId
    kind: CaseKind = "prompt"
    tags: tuple[str, ...] = ()
    suite: str | None = None
    commitment: Commitment
    asked: Commitment | None = None
    """Commitment to `Case.asked`, so that the same question is recognised under other tags or references."""
    unit: Commitment | None = None
    """Commitment to what the mark's `unit` is here: cases with the same one count as one."""
    classes: Mapping[Name, Count] = {}
    """The number of its label under each label scorer whose macro-F1 a rule is about."""
    opening: Opening | None = None
    """Present in a public test set only."""


class PlanTestSet(Value):
    """The merged test set: its cases in file order, and the root over their commitments in order of id."""

    name: Name
    version: Short | None = None
    visibility: Literal["private", "public"] = "private"
    root: Digest
    digest: Digest | None = None
    """SHA-256 of the cases themselves; public sets only, since a private one could be guessed from it."""
    portable: Digest | None = None
    """SHA-256 of ids, inputs, references and tags alone, for other tools; public sets that hold nothing else only."""
    cases: tuple[PlanCase, ...]


class PlanText(Value):
    """A text that reaches the model or a scorer, as a commitment."""

    role: Literal["system", "document", "answers", "pattern", "value", "body", "schema", "tool", "rules", "template"]
    name: str = ""
    """A document's file name."""
    commitment: Commitment


class PlanFile(Value):
    """A project file that a plan or an argv names, pinned by digest."""

    path: str
    digest: Digest


class Pricing(Value):
    """Prices per million tokens as decimal text; `free` is an explicit zero. Absent pricing is unknown, never zero."""

    currency: Currency = "USD"
    free: bool = False
    input: DecimalText | None = None
    output: DecimalText | None = None
    cache_read: DecimalText | None = None
    cache_write: DecimalText | None = None
    reasoning: DecimalText | None = None
    """Of the reasoning tokens within the output; absent: as the rest of the output."""
    source: Short | None = None
    """The price table from which they were taken, with its version; absent: their author gave them."""
    as_of: Annotated[str, Pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")] | None = None
    """The table's date."""


class Retry(Value):
    """Further attempts after a transient failure: how many, and the bounds of the wait before each."""

    max_retries: Count = 2
    initial_delay_ms: Count = 500
    max_delay_ms: Count = 10_000


class Limits(Value):
    """Bounds of one attempt, and of how fast attempts at one model follow each other."""

    attempt_timeout_ms: Positive = 120_000
    answer_bytes: Positive = 8 * 1024 * 1024
    requests_per_minute: Positive | None = None
    tokens_per_minute: Positive | None = None


class Provider(Value):
    """What all models behind one account share: requests and tokens per minute, and requests at once."""

    name: Short
    requests_per_minute: Positive | None = None
    tokens_per_minute: Positive | None = None
    concurrency: Positive | None = None


class Budget(Value):
    """What a run may spend and how long it may begin attempts: no attempt starts that could go beyond."""

    cost_nano: Count | None = None
    currency: Currency = "USD"
    wall_time_ms: Positive | None = None
    when: Literal["before_next_trial"] = "before_next_trial"


class AnswerRule(Value):
    """What of a model's answer is scored. It says nothing to the model, so it is no part of the attempt key."""

    reasoning: Literal["keep", "strip"] = "keep"
    """strip: `<think>` blocks are recorded apart, with the transcript, and the rest is the answer."""


class PlanTool(Value):
    """A tool that a model is offered in some of its cases."""

    name: Name
    type: Literal["python"] = "python"
    settings: Mapping[str, Json] = {}
    texts: tuple[PlanText, ...] = ()
    """What the model is told of it, as one value: `description` and `parameters`."""
    files: tuple[PlanFile, ...] = ()


class Configuration(Value):
    """A model under a profile: the unit that is accepted."""

    name: ConfigurationName
    model: Name
    profile: Name
    runner: Name
    model_id: Short | None = None
    """The provider's id, asked for and expected back."""
    endpoint: str | None = None
    interface: Literal["chat", "embeddings"] = "chat"
    """What a helper is asked for."""
    settings: Mapping[str, Json] = {}
    """Sent or used as they are; never a text or a secret."""
    texts: tuple[PlanText, ...] = ()
    files: tuple[PlanFile, ...] = ()
    secret: Short | None = None
    """The NAME of the environment variable that holds the key."""
    secret_sent: Mapping[str, str] = {}
    """How the key is sent, where its author says so: `header`, `prefix`."""
    subject: Short | None = None
    """The author's version or digest of the thing under test."""
    served: tuple[Short, ...] = ()
    """Further ids under which the far end may answer."""
    provider: Short | None = None
    """The account whose limits it shares; absent: its endpoint's host, or its runner."""
    pricing: Pricing | None = None
    role: Literal["candidate", "comparison"] = "candidate"
    retry: Retry = Retry()
    limits: Limits = Limits()
    answer: AnswerRule = AnswerRule()
    structured: Literal["native", "json_object", "text", "none"] | None = None
    """How an answer's form is asked for, where a case gives one; none: only in words, and the reply is the answer."""
    accepts: tuple[Short, ...] | None = None
    """Media types of the files that it takes; absent: whatever its runner opens."""
    tools: tuple[PlanTool, ...] = ()
    plugin: Short | None = None
    """The package that its runner comes from, with its version, or "object MODULE:CLASS"; absent: it is built in."""

    @property
    def all_files(self) -> tuple[PlanFile, ...]:
        """Return its files and those of its tools."""
        return (*self.files, *(file for tool in self.tools for file in tool.files))


class Scorer(Value):
    """A named scorer, the cases it applies to, and the one metric it yields."""

    name: Name
    type: Name
    version: Positive = 1
    metric: Name
    also: tuple[Name, ...] = ()
    """Further metrics that it yields with the first."""
    cases: Selector = Selector()
    settings: Mapping[str, Json] = {}
    texts: tuple[PlanText, ...] = ()
    files: tuple[PlanFile, ...] = ()
    """Of a scorer that is a program: what its words name."""
    helper: Name | None = None
    """The helper that it asks."""
    plugin: Short | None = None
    """The package that it comes from, with its version, or "object MODULE:CLASS"; absent: it is built in."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return every metric that it yields."""
        return (self.metric, *self.also)


class MatrixLine(Value):
    """These configurations run these cases this many times."""

    configurations: tuple[ConfigurationName, ...]
    cases: Selector = Selector()
    repeats: Positive


class Rule(Value):
    """One line of a pass mark, of one kind.

    The kinds are `at_least`, `at_most`, `must_pass`, `not_worse_than`, `no_regressions` and `any_of`.
    """

    id: Name
    basis: Literal["estimate", "bound"] = "estimate"
    """estimate: the measured number is compared as it is; bound: what it shows with the mark's confidence."""
    at_least: DecimalText | None = None
    at_most: DecimalText | None = None
    of: Quantity | None = None
    where: Selector = Selector()
    each: Literal["tag", "kind", "suite", "configuration"] | None = None
    """One copy of the rule for each tag, kind or suite of its cases, or each candidate; every copy must hold."""
    cases: Positive = 1
    """Fewest cases that the rule, or each copy of it, can be told from."""
    must_pass: Selector | None = None
    require: Literal["all", "majority", "any"] | None = None
    not_worse_than: ConfigurationName | None = None
    """`baseline`, or a configuration of this plan."""
    by: SignedText | None = None
    """How much less than the reference still holds; below zero: how much more it must be."""
    no_regressions: Literal["baseline"] | None = None
    allow: tuple[CaseId, ...] = ()
    """Cases that may be worse than in the baseline, or gone."""
    any_of: tuple[Name, ...] = ()
    """Ids of the mark's `alternatives`, one of which must hold."""
    correct_for_judge: Name | None = None
    """The judge whose errors, as its checks show them, are taken off its scores."""


class Choose(Value):
    """Which of the configurations that pass is taken, and how far from its reference each of them may be."""

    by: Literal["cheapest", "best", "fastest"]
    of: Quantity
    """What is compared: a metric or a rate, over the cases that it applies to."""
    within: DecimalText | None = None
    """How much less than the reference still passes; absent: however much."""
    against: ConfigurationName = "best"
    """The reference: `best`, or a configuration."""
    best_among: Literal["all", "floors_met"] = "all"
    basis: Literal["estimate", "bound"] = "estimate"
    tie_break: tuple[Literal["score", "cost", "latency", "order"], ...] = ("score", "latency", "order")
    keep: ConfigurationName | None = None
    """The configuration that is in use, to be kept while none is chosen."""


class JudgeEvidence(Value):
    """How well a judge must agree with people, over all checks of it that the ledger holds."""

    scorer: Name
    graded: Positive = 1
    """Fewest answers that people must have graded."""
    agreement: DecimalText
    """What the lower bound of the share of equal verdicts must reach."""


class Evidence(Value):
    """What a record must show before it can decide anything; unmet is inconclusive."""

    calls: Literal["live", "any"] = "live"
    selection: Literal["full"] = "full"
    complete: DecimalText = "1"
    """Share of the planned trials that were attempted."""
    reasked: DecimalText = "0.02"
    """Share of the cells that may have been asked again after an answer had begun to arrive."""
    infrastructure_errors: DecimalText | None = None
    cases: Count = 1
    repeats: Positive = 1
    judge: JudgeEvidence | None = None


class AttemptsRule(Value):
    """How earlier and later runs of the same configuration on the same cases count."""

    scope: Literal["configuration", "model"] = "configuration"
    use: Literal["all", "last"] = "all"
    max: Positive | None = None
    """How many attempts may be made; a later one is rejected."""
    spend: bool = False
    """The j-th attempt's bounds have alpha / 2^j, so that all together have alpha; else alpha / 2^(j-1)."""


class Stop(Value):
    """When a run may end before its last trial. Cases then run in the order that the run.start entry's hash gives."""

    mode: Literal["sealed", "counts"]
    """sealed: no answer that is still missing could change a decision; counts: a boundary of `accept` or `reject`."""
    rule: Name | None = None
    """Under counts: the rule that the boundaries decide, by the number of cases that did not pass."""
    accept: tuple[Annotated[int, AtLeast(-1)], ...] = ()
    """After the first, second, ... case: so many failures or fewer accept; -1 for none."""
    reject: tuple[Count, ...] = ()
    """After the first, second, ... case: so many failures or more reject."""


class Baseline(Value):
    """The run with which rules compare, as it was when the mark was made."""

    run_id: RunId
    size: Positive
    root: Digest
    """Of its record's first `size` lines."""
    test_set: Digest
    """The root of its test set."""
    configuration: ConfigurationName | None = None
    """What is compared with; absent: its configuration of the same name as the one that is decided on."""


class PassMark(Value):
    """The rules that were committed before the results."""

    require: Literal["eligible", "chosen"] = "eligible"
    confidence: DecimalText = "0.95"
    """Of every bound, one-sided; alpha is what is left of 1."""
    over: Literal["cases", "this_set"] = "cases"
    """What a bound speaks of: work like these cases, or exactly these cases, asked again."""
    unit: Annotated[str, Pattern(r"case|meta\.[A-Za-z0-9][A-Za-z0-9._:@+-]{0,63}")] = "case"
    """What is drawn at random: a case, or all cases that share what this key of `meta` holds."""
    family: Literal["plan", "each"] = "plan"
    """plan: the candidates of the plan share alpha; each: every candidate has all of it."""
    errors: Literal["bound", "zero", "exclude"] = "bound"
    evidence: Evidence = Evidence()
    attempts: AttemptsRule = AttemptsRule()
    rules: tuple[Rule, ...]
    alternatives: tuple[Rule, ...] = ()
    """The rules that `any_of` names."""
    choose: Choose | None = None
    absent_rivals: Literal["bound", "drop"] = "bound"
    """A rival without a single answer might be the best one, unless it is dropped."""
    declared_usage: Literal["refuse", "accept"] = "refuse"
    """Whether a cost may rest on tokens that the thing under test counted itself."""
    stop: Stop | None = None
    baseline: Baseline | None = None


class Verdicts(Value):
    """How scorers make a trial's verdict, and a case's repeats the case's."""

    trial: Literal["all_scorers"] = "all_scorers"
    case: Literal["all", "majority", "any"] = "all"


class Plan(Value):
    """The resolved matrix. Its file's SHA-256 is the plan digest."""

    format: Literal["trialplate-plan/1"] = "trialplate-plan/1"
    name: Name
    test_set: PlanTestSet
    configurations: tuple[Configuration, ...]
    helpers: tuple[Configuration, ...] = ()
    """Models that scorers ask; each is named by its model alone."""
    scorers: tuple[Scorer, ...]
    matrix: tuple[MatrixLine, ...]
    verdict: Verdicts = Verdicts()
    pass_mark: PassMark
    concurrency: Positive = 4
    providers: tuple[Provider, ...] = ()
    budget: Budget | None = None
    order: Literal["interleaved"] = "interleaved"
    cache: CacheMode = "off"
    cassettes: tuple[PlanFile, ...] = ()
    """What may be replayed, pinned before it is read."""
    software: Short
    unpinned: tuple[str, ...] = ()
    """What could not be pinned by digest, in words."""
