# SPDX-License-Identifier: Apache-2.0
"""`python -m trialplate.verify verify|gate ...`."""

import sys

from trialplate.verify.cli import main
from trialplate.verify.output import flushed, ready

ready()
sys.exit(flushed(main()))
