# SPDX-License-Identifier: Apache-2.0
"""The most that one attempt can take, in tokens and money, and its helpers with it.

One definition: the estimate adds it up, a budget reserves it, a limit on tokens takes it. Erring high is its purpose.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from trialplate.record import canonical
from trialplate.record.entries import Money, Usage
from trialplate.record.frozen import Json
from trialplate.record.matrix import selects
from trialplate.record.values import Case, Configuration, Plan, Pricing
from trialplate.rules.cells import HOSTED_RUNNERS
from trialplate.rules.cost import cost_of
from trialplate.spec.judge_words import ASKS
from trialplate.spec.turns import MAX_TURNS, RESULT_BYTES

__all__ = ["UNSTATED_OUTPUT", "AttemptBounds", "Bound", "HelperBounds", "dearest", "output_limit", "tokens_in"]
__all__ += ["tokens_of"]

OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
UNSTATED_OUTPUT = 4096
"""Output tokens of an attempt whose configuration states no limit: a guess, and said to be one."""
FORM_BYTES = 1200
"""What is said about the form of an answer, besides the author's words: the schema of a reply, twice."""
FILE_TOKENS = 16_384
"""Input tokens of a file that is sent: of an image, which all providers scale down to no more; of another at least."""
PER_REQUEST = 16
"""Input tokens of what stands around the texts."""
JUDGE_WORDS = 4096
"""Bytes of the built-in words that a judge is told at most, in its second prompt too."""


class Bound(NamedTuple):
    """The most that one attempt should take."""

    input_tokens: int
    output_tokens: int
    stated: bool
    """The output's limit is the configuration's own, and no guess."""
    cost: Money | None
    """None is an unknown price, never zero."""
    helping: int | None = 0
    """The most that the helpers of its scorers should cost, in 10^-9; None is an unknown price."""
    asks: int = 0
    """Calls of helpers that this is of."""
    turns: int = 1
    """Requests that it may make."""
    first_tokens: int = 0
    """Input tokens of the first of them."""

    @property
    def request_tokens(self) -> int:
        """Return the most tokens, in and out, of a request as an attempt begins with it."""
        return self.first_tokens + self.output_tokens // self.turns

    @property
    def whole(self) -> int | None:
        """Return the most that it should cost with its helpers, in 10^-9; None is unknown."""
        return None if self.cost is None or self.helping is None else self.cost.nano + self.helping


class AttemptBounds:
    """The bound of an attempt of one configuration at each case; worked out when it is asked for, and kept."""

    def __init__(
        self,
        configuration: Configuration,
        opened: Mapping[str, Json],
        cases: Mapping[str, Case],
        helping: HelperBounds | None = None,
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        """Take what is sent.

        Args:
            configuration: whose attempts they are.
            opened: the texts by commitment.
            cases: the cases by id.
            helping: of the helpers that score an answer; None: there are none.
            sizes: bytes of the cases' files, by digest; None: they have none.
        """
        sent = [opened[text.commitment] for text in configuration.texts if text.role in ("system", "document", "body")]
        self._shared = sum(_bytes(text) + 64 for text in sent)
        self._tools = {tool.name: _bytes(opened[tool.texts[0].commitment]) + 64 for tool in configuration.tools}
        self._configuration, self._cases, self._sizes = configuration, cases, sizes or {}
        self.helping = helping
        """Of the helpers of its scorers; None: it has none."""
        stated = output_limit(configuration)
        self._output, self._stated = (UNSTATED_OUTPUT, False) if stated is None else (stated, True)
        self.asks = configuration.runner != "trace"
        """Somebody is asked, and paid."""
        pricing = configuration.pricing
        self._free = Money(nano=0, currency="USD" if pricing is None else pricing.currency)
        self._known: dict[str, Bound] = {}
        self._costs: dict[tuple[int, int], Money | None] = {}
        """By tokens: many cases are of a length."""

    def of(self, case_id: str) -> Bound:
        """Return the bound of one attempt: input tokens are at most a third of the UTF-8 bytes that are sent."""
        bound = self._known.get(case_id)
        if bound is None:
            turns, first = self._turns(self._cases[case_id]) if self.asks else (1, 0)
            grows = self._output + -(-RESULT_BYTES // 3)
            tokens, output = turns * first + grows * turns * (turns - 1) // 2, turns * self._output if self.asks else 0
            if (tokens, output) not in self._costs:
                self._costs[tokens, output] = dearest(self._configuration, tokens, output) if self.asks else self._free
            helping, asks = (0, 0) if self.helping is None else self.helping.cost(case_id, self._output)
            stated = self._stated or not self.asks
            bound = Bound(tokens, output, stated, self._costs[tokens, output], helping, asks, turns, first)
            self._known[case_id] = bound
        return bound

    def _turns(self, case: Case) -> tuple[int, int]:
        """Return the most requests of an attempt, and the most input tokens of the first of them.

        Only where tools are offered does one follow another, with all that went before.
        """
        form = FORM_BYTES if case.answer_format is not None or case.answer_schema is not None else 0
        form += 2 * _bytes(case.answer_schema) if case.answer_schema is not None else _bytes(case.answer_format or "")
        offered = [self._tools[tool.name] for tool in case.tools if tool.name in self._tools]
        size = self._shared + _bytes(case.input) + form + sum(offered)
        tokens = tokens_of(size) + self._file_tokens(case)
        several = bool(offered or self._configuration.settings.get("server_tools"))
        return (case.max_turns or MAX_TURNS) if several else 1, tokens

    def _file_tokens(self, case: Case) -> int:
        """Return the most tokens that the files of a case are, as far as they are sent."""
        if self._configuration.runner not in HOSTED_RUNNERS:
            return 0
        sent = [file for file in case.files if "native" in file.access]
        return sum(
            FILE_TOKENS if file.type.startswith("image/") else max(FILE_TOKENS, self._sizes.get(file.digest, 0) // 3)
            for file in sent
        )


class HelperBounds:
    """The most that the helpers of a case's scorers should take for one answer."""

    def __init__(self, plan: Plan, opened: Mapping[str, Json], cases: Mapping[str, Case]) -> None:
        self._helpers = {item.name: item for item in plan.helpers}
        self._asking = [scorer for scorer in plan.scorers if scorer.helper in self._helpers]
        self._sizes = {
            scorer.name: sum(
                _bytes(opened[text.commitment]) + 64
                for text in (*scorer.texts, *self._helpers[scorer.helper or ""].texts)
            )
            for scorer in self._asking
        }
        self._cases = cases
        self._known: dict[tuple[str, int], tuple[int | None, int]] = {}

    def of(self, case_id: str, answer: int) -> Iterator[tuple[str, int, int, Money | None]]:
        """Yield helper, input tokens, output tokens and cost for each scorer that asks one about a case.

        Args:
            answer: the tokens of the longest answer that may be scored.
        """
        case = self._cases[case_id]
        held = [case.input, case.answer_format or "", *case.references, *case.context]
        for scorer in self._asking:
            if not selects(scorer.cases, case):
                continue
            helper = self._helpers[scorer.helper or ""]
            judges = helper.interface == "chat"
            said = held if judges else case.references
            size = self._sizes[scorer.name] + (JUDGE_WORDS if judges else 0) + sum(_bytes(item) + 8 for item in said)
            number = ASKS if judges else 1
            tokens = number * (tokens_of(size) + answer)
            output = number * (output_limit(helper) or UNSTATED_OUTPUT) if judges else 0
            yield helper.name, tokens, output, dearest(helper, tokens, output)

    def requests(self, case_id: str) -> Iterator[tuple[str, int]]:
        """Yield each helper that is asked about a case, and the tokens of one request even if the answer is empty."""
        for helper, tokens, output, _ in self.of(case_id, 0):
            asks = ASKS if output else 1
            stated = output_limit(self._helpers[helper]) is not None
            yield helper, tokens // asks + (output // asks if stated else 0)

    def cost(self, case_id: str, answer: int) -> tuple[int | None, int]:
        """Return the most that all of them should cost, in 10^-9 (None: a price is unknown), and their calls."""
        if (case_id, answer) not in self._known:
            found = list(self.of(case_id, answer))
            known = [cost.nano for *_, cost in found if cost is not None]
            asks = sum(ASKS if output else 1 for _, _, output, _ in found)
            self._known[case_id, answer] = sum(known) if len(known) == len(found) else None, asks
        return self._known[case_id, answer]


def output_limit(configuration: Configuration) -> int | None:
    """Return the output tokens that a configuration allows itself; None if it states no limit."""
    limits = [configuration.settings.get(name) for name in OUTPUT_LIMITS]
    return max(
        (item for item in limits if isinstance(item, int) and not isinstance(item, bool) and item > 0), default=None
    )


def tokens_of(size: int) -> int:
    """Return the input tokens that so many bytes of UTF-8 come to at most: a third of them, and what stands around."""
    return -(-size // 3) + PER_REQUEST


def tokens_in(texts: Iterable[str]) -> int:
    """Return the input tokens that some texts come to at most."""
    return tokens_of(sum(map(_bytes, texts)))


def dearest(configuration: Configuration, tokens: int, output: int) -> Money | None:
    """Return the dearest that these tokens can be, whatever part of them is cached or reasoning."""
    pricing = configuration.pricing or Pricing()
    usages = [Usage(input=tokens, output=output)]
    usages += [usages[0].replace(cache_write=tokens)] if pricing.cache_write is not None else []
    usages += [usages[0].replace(cache_read=tokens)] if pricing.cache_read is not None else []
    usages += [item.replace(reasoning=output) for item in usages] if pricing.reasoning is not None else []
    costs = [cost_of(configuration.pricing, usage) for usage in usages]
    return max((item for item in costs if item is not None), key=lambda item: item.nano, default=None)


def _bytes(text: Json) -> int:
    return len(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else canonical.encode(text))
