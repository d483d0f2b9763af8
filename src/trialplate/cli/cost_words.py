# SPDX-License-Identifier: Apache-2.0
"""What a run would cost at most: in lines, and as part of an object."""

from __future__ import annotations

from collections.abc import Iterator

from trialplate.engine.estimate import Estimate, estimate
from trialplate.engine.prepare import Prepared
from trialplate.record import codec
from trialplate.record.frozen import Json
from trialplate.verify.findings import counted

__all__ = ["cost_lines", "cost_object"]


def cost_lines(prepared: Prepared) -> Iterator[str]:
    """Yield the upper estimate of each configuration and helper, and of all that have a price."""
    helping = prepared.helper_estimates
    estimates = [*estimate(prepared.asked, prepared.bounds), *helping]
    unknown = [item.configuration for item in estimates if item.cost is None]
    total: dict[str, int] = {}
    for item in estimates:
        price = "price unknown"
        if item.cost is not None:
            total[item.cost.currency] = total.get(item.cost.currency, 0) + item.cost.nano
            price = f"at most {item.cost.nano / 1e9:.4f} {item.cost.currency}"
        tokens = f"about {item.input_tokens} tokens in, {item.output_tokens} out"
        what = f"asked about {counted(item.trials, 'answer')}" if item in helping else counted(item.trials, "trial")
        yield f"  {item.configuration}: {what}, {tokens}, {price}"
    told = " + ".join(f"{nano / 1e9:.4f} {currency}" for currency, nano in total.items()) or "nothing that is known"
    rest = f"; unknown: {', '.join(unknown)}" if unknown else ""
    yield f"upper estimate: {'at least ' if unknown else ''}{told}{rest}"


def cost_object(prepared: Prepared) -> dict[str, Json]:
    """Return the plan's name, its trials and the upper estimates; an unknown cost is null."""
    rows: list[Json] = [_row(item, "configuration") for item in estimate(prepared.asked, prepared.bounds)]
    made: dict[str, Json] = {"plan": prepared.plan.name, "trials": prepared.matrix.size, "estimate": rows}
    if prepared.plan.helpers:
        made["helpers"] = [_row(item, "helper") for item in prepared.helper_estimates]
    return made


def _row(item: Estimate, key: str) -> dict[str, Json]:
    return {
        key: item.configuration,
        "trials": item.trials,
        "input_tokens": item.input_tokens,
        "output_tokens": item.output_tokens,
        "cost": codec.to_json(item.cost) if item.cost is not None else None,
    }
