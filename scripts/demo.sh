#!/bin/sh
# The main job in one go, without any key: answers are replayed from the starter's cassettes.
set -eu
cd "$(dirname "$0")/.."
rm -rf demo
TRIALPLATE_HOME="$PWD/demo/home"
export TRIALPLATE_HOME
mkdir -p demo/home

say() { printf '\n$ %s\n' "$*"; "$@"; }
refused() {     # the command must end with this exit code, else the demo itself has failed
  wanted=$1; shift
  printf '\n$ %s\n' "$*"
  code=0; "$@" || code=$?
  echo "(exit $code)"
  [ "$code" -eq "$wanted" ]
}

say trialplate init demo demo/contract
cd demo/contract
say trialplate run
say trialplate run --yes
say trialplate report --by-tag --failures 2
refused 0 trialplate gate latest --model smollm2/with-contract
refused 1 trialplate gate latest --model smollm2/from-memory
say trialplate verify latest

record=$(ls -d runs/*)/record.jsonl
printf '\nNow one digit of the record is changed: the first "passed": a metric of 1 becomes 0.\n'
cp "$record" "$record.original"
awk '!done { done = sub(/"metrics":\{"correct":1\}/, "\"metrics\":{\"correct\":0}") } { print }' "$record.original" >"$record"
refused 3 trialplate verify latest
mv "$record.original" "$record"
printf '\nPut back, it holds again: '
trialplate verify latest | tail -n 1
printf '\nTo go on by hand:\n  . .venv/bin/activate; export TRIALPLATE_HOME="%s"; cd demo/contract\n' "$TRIALPLATE_HOME"
