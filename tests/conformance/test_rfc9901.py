# SPDX-License-Identifier: Apache-2.0
"""Disclosures against the examples of RFC 9901."""

from __future__ import annotations

import base64
import json

from trialplate.record.disclosure import array_of, commit, commitment_of

ARRAY_ELEMENT = "WyJsa2x4RjVqTVlsR1RQVW92TU5JdkNBIiwgIkZSIl0"
ARRAY_ELEMENT_DIGEST = "w0I8EKcdCtUPkGCNUrfwVp2xEgNjtoIDlOxc9-PlOhs"
PROPERTY = "WyJfMjZiYzRMVC1hYzZxMktJNmNCVzVlcyIsICJmYW1pbHlfbmFtZSIsICJNw7ZiaXVzIl0"
PROPERTY_DIGEST = "X9yH0Ajrdm1Oij4tWso9UzzKJvPoDxwmuEcO3XAdRC0"


def unpadded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_published_disclosures_have_the_published_digests() -> None:
    """The digest is over the disclosure's ASCII text, whatever JSON form its author chose."""
    assert commitment_of(unpadded(ARRAY_ELEMENT)) == ARRAY_ELEMENT_DIGEST
    assert commitment_of(unpadded(PROPERTY)) == PROPERTY_DIGEST


def test_our_disclosure_of_the_published_element_decodes_to_the_same_salt_and_value() -> None:
    """Ours is the RFC 8785 form of the published array: the same array without the space."""
    salt, value = json.loads(unpadded(ARRAY_ELEMENT))

    ours = array_of(salt, value)

    assert unpadded(ARRAY_ELEMENT) == b'["lklxF5jMYlGTPUovMNIvCA", "FR"]'
    assert ours == b'["lklxF5jMYlGTPUovMNIvCA","FR"]'
    assert commitment_of(ours) == commit(salt, value)
