# SPDX-License-Identifier: Apache-2.0
"""Canonical JSON against other people's data: rfc8785's pairs, the ES6 number table, and Node's own JSON."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
import rfc8785

from trialplate.errors import FormatError
from trialplate.record import canonical
from trialplate.record.flaws import MAX_INTEGER

VECTORS = Path(__file__).parent.parent / "vectors"
PAIRS = ["arrays", "french", "structures", "unicode", "values", "weird"]

C02 = '{"a":1e-7,"b":0.00001,"c":1e20,"d":1e21,"e":100.0,"f":0.1,"g":5e-324,"h":1.7976931348623157e308,'
C02 += '"i":333333333.33333329}'
CASES = [
    # (case, JSON text, SHA-256 of its canonical bytes, whether we refuse it)
    (
        "C01",
        r'{"\uFF21":2,"\uD800\uDC00":1,"a":0}',
        "ac6448ff3b0312a68df36dcd425b9c273f7966022401f82af08b9118f2f29d63",
        False,
    ),
    ("C02", C02, "85cef15d344d61456982fa968a03d79d697c526f6a83d7435905777a578d1dca", True),
    ("C04", '{"x":9007199254740991}', "e9b5e276a84ec2efb237123ad920232fb71e5e9c60f60aa2cd3f75b822db9628", False),
    ("C04", '{"x":9007199254740992}', None, True),
    ("C04", '{"x":9007199254740993}', None, True),
]

NODE = """
const canonical = (value) => {
  if (Array.isArray(value)) return '[' + value.map(canonical).join(',') + ']';
  if (value !== null && typeof value === 'object') {
    const keys = Object.keys(value).sort();  // compares UTF-16 code units, as RFC 8785 asks
    return '{' + keys.map((key) => JSON.stringify(key) + ':' + canonical(value[key])).join(',') + '}';
  }
  return JSON.stringify(value);
};
const chunks = [];
process.stdin.on('data', (chunk) => chunks.push(chunk));
process.stdin.on('end', () => {
  const texts = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  const hex = (text) => Buffer.from(canonical(JSON.parse(text)), 'utf8').toString('hex');
  process.stdout.write(JSON.stringify(texts.map(hex)));
});
"""


@pytest.fixture(scope="module")
def node() -> str:
    """The Node program; in CI its absence is a failure."""
    found = shutil.which("node")
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail("node is missing; CI must have it")
        pytest.skip("node is not installed")
    return found


def canonical_by_node(node: str, texts: list[str]) -> list[bytes]:
    done = subprocess.run([node, "-e", NODE], input=json.dumps(texts), capture_output=True, text=True, check=True)
    return [bytes.fromhex(item) for item in json.loads(done.stdout)]


@pytest.mark.parametrize("name", [name for name in PAIRS if name != "values"])
def test_published_pair_read_and_written_gives_the_published_bytes(name: str) -> None:
    """Each pair of rfc8785's source distribution goes through our reader and writer."""
    source = (VECTORS / "rfc8785" / "input" / f"{name}.json").read_bytes()
    wanted = (VECTORS / "rfc8785" / "output" / f"{name}.json").read_bytes()

    assert wanted == canonical.encode(canonical.parse(source))
    assert canonical.parse(source) == canonical.decode(wanted)


def test_published_pair_with_1e30_is_refused_and_the_library_agrees_with_it() -> None:
    """The one pair with a float beyond 2^53: we refuse the number by name, rfc8785 writes the published bytes."""
    source = (VECTORS / "rfc8785" / "input" / "values.json").read_bytes()
    wanted = (VECTORS / "rfc8785" / "output" / "values.json").read_bytes()

    with pytest.raises(FormatError, match=r"1E30 .*write it as a string at \$\.numbers\[1\]") as caught:
        canonical.parse(source)

    assert caught.value.code == "STRICT-NUMBER"
    assert wanted == rfc8785.dumps(json.loads(source))
    smaller = source.replace(b"1E30", b"1E15")
    assert wanted.replace(b"1e+30", b"1000000000000000") == canonical.encode(canonical.parse(smaller))


def es6_numbers() -> Iterator[float]:
    """The published sequence of doubles; see tests/vectors/es6-numbers/README.md."""
    static = (VECTORS / "es6-numbers" / "static.txt").read_text().split()
    yield from (struct.unpack(">d", bytes.fromhex(bits))[0] for bits in static)
    yield from (struct.unpack(">d", struct.pack(">Q", 0x0010000000000000 + step))[0] for step in range(2000))
    block = bytes(32)
    while True:
        block = hashlib.sha256(block).digest()
        for number in struct.unpack("<4d", block):
            if number != 0 and number - number == 0:
                yield number


def test_es6_number_table_first_100000_lines_have_the_published_hashes() -> None:
    """Every number that we accept is written by our encoder, the others by rfc8785; the hashes are the published."""
    wanted = json.loads((VECTORS / "es6-numbers" / "hashes.json").read_text())
    table = hashlib.sha256()
    found = {}
    for line, number in enumerate(islice(es6_numbers(), 100_000), start=1):
        write = canonical.encode if abs(number) <= MAX_INTEGER else rfc8785.dumps
        table.update(b"%x,%s\n" % (struct.unpack(">Q", struct.pack(">d", number))[0], write(number)))
        if str(line) in wanted:
            found[str(line)] = table.hexdigest()

    assert wanted == found


@pytest.mark.parametrize(("case", "text", "sha256", "refused"), CASES)
def test_trouble_case_has_the_right_hash_or_is_refused(case: str, text: str, sha256: str | None, refused: bool) -> None:
    """C01 (UTF-16 order), C02 (ECMAScript numbers), C04 (unsafe integers)."""
    if refused:
        with pytest.raises(FormatError) as caught:
            canonical.parse(text.encode())
        assert caught.value.code == "STRICT-NUMBER"
        assert "write it as a string" in caught.value.message
    else:
        assert f"sha256:{sha256}" == canonical.digest_value(canonical.parse(text.encode()))


def test_twenty_lines_of_node_write_the_same_bytes(node: str) -> None:
    """C09: an implementation in another language agrees on every vector and on our own documents."""
    texts = [text for _, text, sha256, _ in CASES if sha256 is not None]
    texts += [(VECTORS / "rfc8785" / "input" / f"{name}.json").read_text() for name in PAIRS]
    texts += ['{"\\ue000":1,"\\ud83d\\ude00":2,"\\u007f":"\\u2028\\/"}', "[-0,-0.0,1e-6,0.000001234,123456789012.5]"]
    by_node = canonical_by_node(node, texts)

    assert by_node == [rfc8785.dumps(json.loads(text)) for text in texts]
    hashes = [sha256 for _, _, sha256, _ in CASES if sha256 is not None]
    assert hashes == [hashlib.sha256(raw).hexdigest() for raw in by_node[: len(hashes)]]
    for raw, text in zip(by_node, texts, strict=True):
        if "e21" not in text and "1E30" not in text:  # these two hold numbers beyond 2^53
            assert raw == canonical.encode(canonical.parse(text.encode()))


def test_node_gives_back_a_text_that_is_no_valid_unicode(node: str) -> None:
    """The escape for lone surrogates is plain JSON twice over, so another language can undo it."""
    stored = canonical.text_out("half \ud835 pair")
    assert isinstance(stored, dict)

    [raw] = canonical_by_node(node, [stored["ascii_json"]])

    assert raw == b'"half \\ud835 pair"'
