# SPDX-License-Identifier: Apache-2.0
"""What `trialplate --help` prints: a page, so that nothing has to be loaded. A test holds it against the commands."""

from __future__ import annotations

__all__ = ["PAGE"]

PAGE = """\
Usage: trialplate [OPTIONS] COMMAND [ARGS]...

  Acceptance testing for language models and agents: commit a pass mark, run, gate, verify.

Options:
  --version                     Print the version.
  --install-completion [SHELL]  Complete with TAB from now on.
  --show-completion [SHELL]     Print what TAB needs, to install it.
  --help                        Show this message and exit.

Commands:
  init        Make a working project: a plan, cases, a key and a ledger.
  validate    Check every file, name, reference and pattern of a plan; nothing is run.
  plan        Tell what a run would cost and what its test set and mark can show; nothing is run.
  commit      Commit the test set and the pass mark to the ledger, ahead of a run.
  run         Estimate a plan, or run it with --yes.
  resume      Finish a run: ask only what is unknown, keep what is decided.
  report      Show a run: the decision in words, the table, the failures.
  ls          List the runs of the ledger, the newest first.
  show        Show the trials of a run, or of one case with prompt, answers and reasons.
  gate        Verify a run and decide on one configuration: exit 0 only if it is accepted.
  verify      Verify a project, a ledger or a run, offline.
  waive       Sign that one run does not count as an attempt.
  schema      Print the JSON Schema of a format.
  plugins     List runners, scorers, loaders and reports, and the packages they come from.
  doctor      Look at versions, keys, clock, disk, ledger, folders and Docker; nothing is changed.
  judge-check A judge against a person's grades.
  keys        Signing keys: made here, kept outside of every project.
  ledger      The project's ledger.
  baseline    The run that others are compared with.

`trialplate COMMAND --help` tells more of each.
"""
