# SPDX-License-Identifier: Apache-2.0
"""Every value goes through JSON and comes back: from each class, as bytes, with absent fields left out."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from value_documents import BAD, GOOD, VALUE_CLASSES, documents

from trialplate.record import canonical, codec
from trialplate.record.frozen import Value

each_class = pytest.mark.parametrize("cls", [pytest.param(cls, id=cls.__name__) for cls in VALUE_CLASSES])


def test_examples_match_their_patterns_and_near_misses_do_not() -> None:
    """The tables that documents are drawn from say what the patterns say."""
    for regex, examples in GOOD.items():
        assert all(re.fullmatch(regex, item) for item in examples), regex
    for regex, misses in BAD.items():
        assert not any(re.fullmatch(regex, item) for item in misses), regex


@each_class
@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_round_trip_through_bytes_gives_the_same_value(cls: type[Value], data: Any) -> None:
    """decode, to_json, canonical bytes, strict reading, decode: nothing is lost, added or renamed."""
    document = data.draw(documents(cls))
    value = codec.decode(cls, document)
    written = codec.to_json(value)
    raw = canonical.encode(written)
    again = codec.decode(cls, canonical.decode(raw))
    assert again == value
    assert canonical.encode(codec.to_json(again)) == raw
    assert written.keys() <= document.keys() | {"format", "v"}


@each_class
@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_absent_fields_are_the_defaults_and_are_not_written(cls: type[Value], data: Any) -> None:
    """What is left out of the document stands at its default in the value, and stays out of the next document."""
    document = data.draw(documents(cls))
    value = codec.decode(cls, document)
    made = cls(**{name: getattr(value, name) for name in document})
    assert made == value
    assert canonical.encode(codec.to_json(made)) == canonical.encode(codec.to_json(value))
