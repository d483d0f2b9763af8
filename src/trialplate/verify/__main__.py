# SPDX-License-Identifier: Apache-2.0
"""`python -m trialplate.verify verify|gate ...`."""

import sys

from trialplate.verify.cli import flushed, main

sys.exit(flushed(main()))
