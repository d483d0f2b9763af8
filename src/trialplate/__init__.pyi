# SPDX-License-Identifier: Apache-2.0
# What type checkers read: the names of __init__.py, which loads each when it is asked for.
from trialplate.api.marks import PassMark as PassMark
from trialplate.api.models import Model as Model
from trialplate.api.run_record import RunRecord as RunRecord
from trialplate.api.run_record import render as render
from trialplate.api.test_sets import TestSet as TestSet
from trialplate.api.test_sets import load_test_set as load_test_set
from trialplate.api.trial import run_trial as run_trial
from trialplate.run_output import RunOutput as RunOutput
from trialplate.scorers.base import Score as Score

__version__: str
