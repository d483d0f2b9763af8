#!/bin/sh
# The demo's project against a real small model on this machine: SmolLM2-135M-Instruct, from packages.
set -eu
cd "$(dirname "$0")/.."
sh scripts/small_model.sh
rm -rf demo-live
TRIALPLATE_HOME="$PWD/demo-live/home"
export TRIALPLATE_HOME
mkdir -p demo-live/home
trialplate init demo demo-live/contract
cd demo-live/contract
trialplate run --cache off --yes
trialplate report --by-tag --failures 2
code=0; trialplate gate latest --model smollm2/with-contract || code=$?
echo "(exit $code)"; [ "$code" -eq 0 ]
code=0; trialplate gate latest --model smollm2/from-memory || code=$?
echo "(exit $code)"; [ "$code" -eq 1 ]
trialplate verify latest
cd ../..
sh scripts/small_model.sh stop
