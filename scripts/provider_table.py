#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the table of docs/reference/providers.md from the golden vectors that prove each of its cells.

A cell is "yes" where tests/vectors/providers holds a golden request and reply of that feature, and the number of a note
where the provider has no such thing. tests/unit/runners/test_provider_vectors.py runs every one of them.

    python scripts/provider_table.py --check | --write
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VECTORS = ROOT / "tests" / "vectors" / "providers"
PAGE = ROOT / "docs" / "reference" / "providers.md"
BEGIN, END = "<!-- begin: table -->", "<!-- end: table -->"
FEATURES = {
    "text": "text",
    "system-prompt": "system",
    "image": "image",
    "document": "document",
    "structured-output": "form",
    "tool-call": "tools",
    "refusal": "refusal",
    "truncation": "truncation",
    "error-in-200": "error in 200",
    "missing-usage": "no usage",
}
ROWS = {
    "openai (Responses)": ("openai", ""),
    "openai (Chat Completions)": ("openai", "chat-"),
    "anthropic": ("anthropic", ""),
    "google": ("google", ""),
    "mistralai": ("mistralai", ""),
    "deepseek": ("deepseek", ""),
    "xai": ("xai", ""),
    "alibaba": ("alibaba", ""),
    "moonshotai": ("moonshotai", ""),
    "openrouter": ("openrouter", ""),
    "openai-compatible": ("openai-compatible", ""),
}


def table() -> str:
    """Return the table, its notes and the sources."""
    notes: list[str] = []
    rows, sources = [], []
    for name, (folder, prefix) in ROWS.items():
        cells = []
        for feature, title in FEATURES.items():
            vector = json.loads((VECTORS / folder / f"{prefix}{feature}.json").read_text(encoding="utf-8"))
            if "absent" not in vector:
                cells.append("yes")
                continue
            note = f"{name}, {title}: {vector['absent']}"
            notes.append(note)
            cells.append(f"[{len(notes)}]")
        more = sorted(
            path.stem.removeprefix(prefix)
            for path in (VECTORS / folder).glob(f"{prefix}*.json")
            if path.stem.removeprefix(prefix) not in FEATURES and (prefix or not path.stem.startswith("chat-"))
        )
        rows.append(f"| `{name}` | {' | '.join(cells)} | {', '.join(more)} |")
        text = json.loads((VECTORS / folder / f"{prefix}text.json").read_text(encoding="utf-8"))
        sources.append(f"- {name}: {text['source']}")
    head = f"| runner | {' | '.join(FEATURES.values())} | and |"
    rule = f"|---|{'---|' * len(FEATURES)}---|"
    told = [f"[{number}] {note}" for number, note in enumerate(notes, 1)]
    return "\n".join(
        ["", head, rule, *rows, "", *[f"{line}  " for line in told], "", "Pages followed:", "", *sources, "", ""]
    )


def main() -> int:
    """Check the page, or write it."""
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    made = f"{head}{BEGIN}{table()}{END}{tail}"
    if "--write" in sys.argv:
        PAGE.write_text(made, encoding="utf-8")
    elif made != page:
        print("docs/reference/providers.md is not current: run python scripts/provider_table.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
