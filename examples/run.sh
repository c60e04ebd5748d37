#!/usr/bin/env bash
# Runs examples/quickstart on this machine, without Docker: two echo backends,
# gatefold and a real Envoy, all on loopback, until Ctrl-C. `make run` calls it.
#
# Served is a copy of the example in .cache/run, so that edits do not change the
# checkout. It is kept from run to run; `make clean` removes it.
#
#   PORT=8081 make run       the Gateway listens on another port
#
# The ports of the backends are those of backends.yaml in the copy, and gatefold's
# own are GATEFOLD_ADMIN_ADDRESS and GATEFOLD_XDS_ADDRESS. Envoy's admin page is at
# ENVOY_ADMIN_ADDRESS (127.0.0.1:9901).
set -euo pipefail
cd "$(dirname "$0")/.."

run=.cache/run
folder=$run/quickstart

mkdir -p $run
if other=$(cat $run/pid 2>/dev/null) && ps -p "$other" -o args= 2>/dev/null | grep -q run.sh; then
  echo "run: it runs already, as process $other: kill $other" >&2
  exit 1
fi
echo $$ >$run/pid
rm -f $run/*.log
[ -d $folder ] || cp -r examples/quickstart $folder
if [ -n "${PORT:-}" ]; then
  sed "s/port: .*/port: $PORT/" $folder/gateway.yaml >$run/gateway.yaml
  mv $run/gateway.yaml $folder/gateway.yaml
fi
url=http://127.0.0.1:$(sed -n 's/.*port: //p' $folder/gateway.yaml | head -n 1)/
backends=$(awk '/^  name:/ {name = $2} /port:/ {print name "=127.0.0.1:" $2}' $folder/backends.yaml)
envoy=$(envoy/get-envoy)

started=()
stop() {
  trap - EXIT INT TERM
  rm -f $run/pid
  [ ${#started[@]} -eq 0 ] || kill "${started[@]}" 2>/dev/null || true
  wait
}
trap stop EXIT
trap 'exit 0' INT TERM

# start LOG PROGRAM ARGS… runs a program in the background. Its own process
# group keeps Ctrl-C from it, so that the order of the end is ours.
start() {
  local log=$run/$1
  shift
  set -m
  "$@" >"$log" 2>&1 &
  set +m
  started+=($!)
}

# until_true WHAT COMMAND… waits for a command to succeed, while all that was
# started lives.
until_true() {
  local what=$1
  shift
  for _ in $(seq 150); do
    for pid in "${started[@]}"; do
      kill -0 "$pid" 2>/dev/null || fail "$what: a program ended"
    done
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  fail "$what: not within 15 seconds"
}

fail() {
  echo "run: $1; the last lines of the logs in $run:" >&2
  tail -n 3 $run/*.log >&2
  ! grep -q 'address already in use' $run/*.log || echo "A port is taken: the head of examples/run.sh says how to use another one." >&2
  exit 1
}

answers() { python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=2)' "$1"; }

# shellcheck disable=SC2086 # one argument for each backend
start echo.log bin/echo $backends
start gatefold.log bin/gatefold serve --log-format console --state-dir $run/state $folder
until_true "gatefold does not listen" grep -q ' listening ' $run/gatefold.log
until_true "gatefold is not ready" bin/gatefold healthcheck
bin/gatefold bootstrap --envoy-admin-address "${ENVOY_ADMIN_ADDRESS:-127.0.0.1:9901}" >$run/envoy.yaml
start envoy.log "$envoy" -c $run/envoy.yaml --log-level warning --use-dynamic-base-id
until_true "Envoy does not connect" grep -q 'Envoy connected' $run/gatefold.log
until_true "no answer from $url ('make clean' gives a fresh copy of the example)" answers $url

cat <<END

Envoy serves $folder, a copy of examples/quickstart.

  try    curl -i $url
  edit   $folder/routes.yaml   and curl again
  look   bin/gatefold status, or http://${GATEFOLD_ADMIN_ADDRESS:-127.0.0.1:19000}/ in a browser
  logs   $run/gatefold.log (below), $run/envoy.log (requests), $run/echo.log

Ctrl-C stops everything.

END
bin/gatefold status >$run/status.txt || cat $run/status.txt

tail -n +1 -f $run/gatefold.log &
started+=($!)
wait -n "${started[@]}"
fail "a program ended"
