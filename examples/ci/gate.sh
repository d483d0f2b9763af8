#!/usr/bin/env bash
# Decide about a run, show the report, and end with the answer of `gate`: whatever posts the report must not swallow it.
#
# Usage: gate.sh RUN [MODEL]     TRIALPLATE_TRUST says whom to trust; SUMMARY is a file to which the report is added.
# Exit:  0 accepted; 1 rejected or inconclusive; 2 usage; 3 the evidence cannot be trusted
set -euo pipefail
run=$1
model=${2:+--model=$2}

answer=0
trialplate gate "$run" $model --no-append | tee gate.txt || answer=$?   # with pipefail it is gate's, not tee's
trialplate report "$run" --format markdown >> "${SUMMARY:-report.md}" || echo "no report could be made" >&2
exit "$answer"
