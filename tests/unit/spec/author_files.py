# SPDX-License-Identifier: Apache-2.0
"""The smallest complete project: a test set, a model, a scorer, repeats and one rule."""

from __future__ import annotations

PLAN = """\
trialplate: 1
name: small
test_sets: [{file: cases/a.csv}]
models:
  echo: {runner: stand-in, answers: {"*": "yes"}}
repeats: 2
scorers:
  right: {type: exact}
pass_mark:
  rules: [{id: right, at_least: 0.90, of: right, basis: estimate}]
"""
CASES = "id,input,reference,tags\nq1,Is it?,yes,critical\nq2,Is it not?,no,\n"
