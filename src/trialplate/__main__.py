# SPDX-License-Identifier: Apache-2.0
"""`python -m trialplate`."""

from trialplate.cli.main import run

run()
