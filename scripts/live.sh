#!/bin/sh
# The demo's project against a real small model on this machine: SmolLM2-135M-Instruct, from packages. The run is killed
# in the middle and resumed: what was answered is not asked again.
set -eu
cd "$(dirname "$0")/.."
sh scripts/small_model.sh
rm -rf demo-live
TRIALPLATE_HOME="$PWD/demo-live/home"
export TRIALPLATE_HOME
mkdir -p demo-live/home
trialplate init demo demo-live/contract
cd demo-live/contract
trialplate run --cache off --yes --jobs 1 &
run=$!
until [ "$(cat runs/*/record.jsonl 2>/dev/null | wc -l)" -ge 61 ]; do
  kill -0 "$run" 2>/dev/null || { echo "the run ended before it could be killed"; exit 1; }
  sleep 0.2
done
kill -9 "$run"
wait "$run" || echo "(killed in the middle, exit $?)"
code=0; trialplate gate latest --model smollm2/with-contract || code=$?
echo "(exit $code)"; [ "$code" -eq 1 ]
trialplate resume latest
trialplate report --by-tag --failures 2
code=0; trialplate gate latest --model smollm2/with-contract || code=$?
echo "(exit $code)"; [ "$code" -eq 0 ]
code=0; trialplate gate latest --model smollm2/from-memory || code=$?
echo "(exit $code)"; [ "$code" -eq 1 ]
trialplate verify latest
cd ../..
# Answers in a form, enforced by the server and asked for in words, near to the right ones by the same model's embeddings.
cp -r scripts/live demo-live/forms
cd demo-live/forms
trialplate run --yes
trialplate report
trialplate show latest sky --repeat 1
trialplate verify latest
cd ../..
sh scripts/small_model.sh stop
