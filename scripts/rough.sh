#!/usr/bin/env bash
# What shells, disks and busy machines do to adamroute, tried on this machine with a tiny shop.
# About 8 minutes on two free cores and 300 MB in TMPDIR. As root it tries more: what can't be tried is
# "skipped: why". It prints a line a case (wanted, got) and ends with 1 where one is not ok.
#     scripts/rough.sh                         # the command of .venv
#     ADAMROUTE=/path/to/adamroute scripts/rough.sh
#     ONLY=disk scripts/rough.sh               # cases whose name holds this word; the base run is made anyway
set -u
ROOT=$(cd "$(dirname "$0")/.." && pwd)
ADAMROUTE=${ADAMROUTE:-$ROOT/.venv/bin/adamroute}
ONLY=${ONLY:-}
WORK=$(mktemp -d "${TMPDIR:-/tmp}/rough-XXXXXX")
chmod 755 "$WORK"
BAD=0
MOUNTS=()
PROXIES=(HTTP_PROXY=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9 http_proxy=http://127.0.0.1:9
  ALL_PROXY=socks5://127.0.0.1:9)
LONG=$WORK/$(printf 'long%.0s' {1..25})
mkdir -p "$LONG" && chmod 1777 "$LONG"

# shellcheck disable=SC2317  # the trap calls it
tidy() {
  for place in ${MOUNTS[@]+"${MOUNTS[@]}"}; do umount "$place" 2>/dev/null; done
  chmod -R u+w "$WORK" 2>/dev/null
  rm -rf "$WORK"
}
trap tidy EXIT

row() { printf '%-46s %-28s %-28s %s\n' "$1" "$2" "$3" "$4"; }
wanted() { [[ $1 == *"$ONLY"* ]]; }
skip() { if wanted "$1"; then row "$1" - - "skipped: $2"; fi; }
is_root() { [[ $(id -u) == 0 ]]; }

# judge NAME WANTED_CODE WANTED_WORDS CODE: one line that says what is wrong, and no traceback.
judge() {
  local said ok=ok got
  said=$(grep -c '^adamroute: ' "$WORK/err")
  got="$4 $(grep '^adamroute: ' "$WORK/err" | tail -1 | grep -oF -- "$3" | head -1)"
  [[ $4 == "$2" ]] || ok=NO
  grep -q Traceback "$WORK/err" && ok="NO (traceback)"
  [[ $2 == 0 || $said == 1 ]] || ok="NO ($said lines)"
  [[ $2 == 0 ]] || grep '^adamroute: ' "$WORK/err" | grep -qF -- "$3" || ok="NO (other words)"
  row "$1" "$2 $3" "$got" "$ok"
  if [[ $ok != ok ]]; then
    BAD=$((BAD + 1))
    tail -n 15 "$WORK/err" | sed 's/^/    | /'
  fi
}

# try NAME WANTED_CODE WANTED_WORDS COMMAND...
try() {
  local name=$1 code=$2 words=$3
  wanted "$name" || return 0
  shift 3
  "$@" >"$WORK/said" 2>"$WORK/err" </dev/null
  judge "$name" "$code" "$words" $?
}

# check NAME WHAT COMMAND...: something beside the exit code.
check() {
  local name=$1 what=$2
  wanted "$name" || return 0
  shift 2
  if "$@"; then row "$name" "$what" yes ok; else row "$name" "$what" no NO; BAD=$((BAD + 1)); fi
}

config() { # config FILE SHOP OUT [MORE]
  cat >"$1" <<YAML
name: rough
shop: "$2"
out: "$3"
demo: {items: 120, users: 30, queries: 120, seed: 3}
routing: {tau: 80, mean_budget: 40}
encoders: {align: {seeds: 1, epochs: 4, hidden: 32, dimensions: 16}}
labels: {synthetic_requests: 60}
student: {layers: 2, steps: 6}
serve: {port: 0}
${4:-}
YAML
}
hashes() { # hashes OUT [STAGE...]: what they made; the student's adapter_config.json lists a set
  local out=$1
  shift
  [[ $# != 0 ]] || set -- index ranks labels student reranker
  (cd "$out" 2>/dev/null && find "$@" -type f ! -name manifest.json \
    ! -name adapter_config.json -print0 | sort -z | xargs -0 sha256sum) 2>/dev/null
}
no_remains() { [[ -z $(find "$1" -name '*.partial' -o -name .lock) ]]; }
without() { # without OUT STAGE...: the base run in another folder, less these stages
  local out=$1
  shift
  mkdir -p "$out"
  cp -a "$WORK/base/." "$out"
  for stage in "$@"; do rm -rf "${out:?}/$stage"; done
}
say() { printf '\n%s\n' "$*"; }

config "$WORK/base.yaml" "$WORK/shop" "$WORK/base"
row case wanted got ok
name=$ONLY # the base run is always made
try "${name:-a run}" 0 "" "$ADAMROUTE" run "$WORK/base.yaml"
hashes "$WORK/base" >"$WORK/base.sums"

say "Folders that can't be used"
touch "$WORK/file"
try "out: a file" 2 "Not a directory" "$ADAMROUTE" build "$WORK/base.yaml" --out "$WORK/file/run"
try "out: a file itself" 2 "folder" "$ADAMROUTE" build "$WORK/base.yaml" --out "$WORK/file"
try "out: a name too long" 2 "too long" "$ADAMROUTE" build "$WORK/base.yaml" --out "$WORK/$(printf 'x%.0s' {1..300})"
ln -s nowhere "$WORK/dangling"
try "out: a link to nothing" 2 "folder" "$ADAMROUTE" build "$WORK/base.yaml" --out "$WORK/dangling"
ln -s round "$WORK/round"
try "out: a link to itself" 2 "" "$ADAMROUTE" build "$WORK/base.yaml" --out "$WORK/round"
if is_root; then
  mkdir "$WORK/readonly"
  if mount -t tmpfs -o ro,size=1m none "$WORK/readonly" 2>/dev/null; then
    MOUNTS+=("$WORK/readonly")
    try "out: read-only disk" 2 "Read-only" "$ADAMROUTE" build "$WORK/base.yaml" --out "$WORK/readonly/run"
  else
    skip "out: read-only disk" "may not mount"
  fi
  mkdir -m 700 "$WORK/private"
  # Nobody; where the installation lies in a home, one who may read everything and write nothing.
  for more in "" "--inh-caps=+dac_read_search --ambient-caps=+dac_read_search"; do
    # shellcheck disable=SC2206  # words
    who=(setpriv --reuid=65534 --regid=65534 --clear-groups $more env "HOME=$WORK/file/home")
    if "${who[@]}" "$ADAMROUTE" --help >/dev/null 2>&1; then NOBODY=("${who[@]}") && break; fi
  done
  if [[ -n ${NOBODY+x} ]]; then
    try "out: no permission" 2 "Permission denied" "${NOBODY[@]}" "$ADAMROUTE" build "$WORK/base.yaml" --out "$WORK/private/run"
  else
    skip "out: no permission" "no setpriv, or others can't read the installation"
  fi
else
  mkdir -m 500 "$WORK/private"
  skip "out: read-only disk" "needs root"
  try "out: no permission" 2 "Permission denied" "$ADAMROUTE" build "$WORK/base.yaml" --out "$WORK/private/run"
fi

say "Names and links"
ODD="$WORK/o dd ü ?#%41&x=1"
mkdir -p "$ODD"
cp -a "$WORK/shop" "$ODD/shöp"
config "$ODD/cönfig.yaml" "$ODD/shöp" "$ODD/out"
mkdir -p "$ODD/out" && cp -a "$WORK/base/cache" "$ODD/out/cache"
odd_run() { "$ADAMROUTE" build "$ODD/cönfig.yaml" && "$ADAMROUTE" label "$ODD/cönfig.yaml"; }
try "names: spaces, ü ? # % &" 0 "" odd_run
check "names: labels are the same" "same bytes" cmp -s <(hashes "$WORK/base" index ranks labels) <(hashes "$ODD/out" index ranks labels)
mkdir "$WORK/elsewhere"
ln -s "$WORK/base.yaml" "$WORK/elsewhere/link.yaml"
ln -s "$WORK/base" "$WORK/elsewhere/run"
ln -s "$WORK/shop" "$WORK/elsewhere/shop"
linked() { (cd "$WORK/elsewhere" && "$ADAMROUTE" ask link.yaml "a striped mug" --shop shop --out run -n 3); }
try "links: relative config, shop and out" 0 "" linked

say "Environments"
ASK=("$ADAMROUTE" ask "$WORK/base.yaml" "a größe 漢字 mug" -n 3)
try "env: no HOME" 0 "" env -u HOME "${ASK[@]}"
try "env: HOME that can't be written" 0 "" env "HOME=$WORK/file/home" "${ASK[@]}"
try "env: TMPDIR that is not there" 0 "" env TMPDIR=/nonexistent "${ASK[@]}"
try "env: locale C" 0 "" env LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 "${ASK[@]}"
try "env: locale POSIX, odd names" 0 "" env LC_ALL=POSIX PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 "$ADAMROUTE" label "$ODD/cönfig.yaml"
try "env: proxies" 0 "" env "${PROXIES[@]}" "${ASK[@]}"
if [[ -n ${NOBODY+x} ]]; then
  mkdir "$WORK/nobody" && cp -a "$WORK/base/cache" "$WORK/nobody/cache" && chown -R 65534:65534 "$WORK/nobody"
  chmod -R a-w "$WORK/shop"
  try "env: nobody, no HOME, C, read-only shop" 0 "" "${NOBODY[@]}" env LC_ALL=C PYTHONUTF8=0 TMPDIR="$LONG" "${PROXIES[@]}" \
    "$ADAMROUTE" run "$WORK/base.yaml" --shop "$WORK/shop" --out "$WORK/nobody"
  check "env: nobody's run is the same" "same bytes" cmp -s "$WORK/base.sums" <(hashes "$WORK/nobody")
else
  skip "env: nobody, no HOME, C, read-only shop" "needs root and setpriv"
fi

say "A full disk"
full() { # full VERB STAGE...: the verb on a disk without room, then with room
  local verb=$1 out=$WORK/small/run free
  shift
  wanted "disk: $verb" || return 0
  rm -rf "$WORK/small/run" "$WORK/small/filler"
  without "$out" "$@"
  free=$(df --output=avail -k "$WORK/small" | tail -1)
  head -c "$(((free - ROOM) * 1024))" /dev/zero >"$WORK/small/filler"
  try "disk: $verb" 2 "No space left" "$ADAMROUTE" "$verb" "$WORK/small.yaml"
  check "disk: $verb leaves nothing half" "no .partial" no_remains "$out"
  rm "$WORK/small/filler"
  try "disk: $verb goes on" 0 "" "$ADAMROUTE" "$verb" "$WORK/small.yaml"
  check "disk: $verb, the same result" "same bytes" cmp -s "$WORK/base.sums" <(hashes "$out")
}
mkdir -p "$WORK/small"
config "$WORK/small.yaml" "$WORK/shop" "$WORK/small/run"
if is_root && mount -t tmpfs -o size=64m none "$WORK/small" 2>/dev/null; then
  MOUNTS+=("$WORK/small")
  ROOM=64 full build cache index
  ROOM=16 full label ranks labels
  ROOM=64 full train student reranker
  ROOM=4 full calibrate calibration
  ROOM=4 full report report
else
  skip "disk: every stage" "needs root, and to be allowed to mount"
fi

say "Signals"
stop() { # stop SIGNAL CODE VERB WORDS STAGE...: the verb gets the signal when it says WORDS
  local signal=$1 code=$2 verb=$3 words=$4 out=$WORK/stopped
  shift 4
  wanted "signal: $signal at $verb" || return 0
  rm -rf "$out"
  without "$out" "$@"
  env --default-signal=INT "$ADAMROUTE" "$verb" "$WORK/stopped.yaml" >"$WORK/said" 2>"$WORK/err" </dev/null &
  local pid=$!
  for _ in $(seq 600); do
    grep -qF "$words" "$WORK/err" && break
    kill -0 $pid 2>/dev/null || break
    sleep 0.1
  done
  kill "-$signal" $pid 2>/dev/null
  wait $pid
  judge "signal: $signal at $verb" "$code" "SIG$signal" $?
  check "signal: $signal at $verb leaves nothing half" "no .partial" no_remains "$out"
}
config "$WORK/stopped.yaml" "$WORK/shop" "$WORK/stopped"
stop INT 130 build "text vectors" cache index
stop TERM 143 build "photo features" cache index
stop INT 130 label "ranks of requests" ranks labels
stop TERM 143 label "teacher, round 1" ranks labels
stop INT 130 train "held-out users" student reranker
stop TERM 143 train "linear student" student reranker
stop INT 130 calibrate "calibration: student" calibration report
stop TERM 143 report "answer" report
try "signal: the next run goes on" 0 "" "$ADAMROUTE" run "$WORK/stopped.yaml"
check "signal: the same result" "same bytes" cmp -s "$WORK/base.sums" <(hashes "$WORK/stopped")

say "Two at once"
if wanted "two: the second"; then
  mkdir -p "$WORK/two" && cp -a "$WORK/base/cache" "$WORK/two/cache"
  "$ADAMROUTE" build "$WORK/base.yaml" --shop "$WORK/shop" --out "$WORK/two" >/dev/null 2>"$WORK/first" </dev/null &
  first=$!
  for _ in $(seq 300); do [[ -s $WORK/two/.lock ]] && break; sleep 0.1; done
  try "two: the second is told" 2 "(process $first on" "$ADAMROUTE" label "$WORK/base.yaml" --shop "$WORK/shop" --out "$WORK/two"
  wait $first
  check "two: the first ends well" "code 0" test $? = 0
fi

say "A server"
served() { # served NAME COMMAND...: start, ask, Ctrl-C
  local name=$1 url=""
  wanted "$name" || return 0
  shift
  "$@" "$ADAMROUTE" serve "$WORK/base.yaml" >"$WORK/said" 2>"$WORK/err" </dev/null &
  local pid=$!
  for _ in $(seq 1200); do
    url=$(grep -oE 'http://[0-9.:]+' "$WORK/said") && break
    kill -0 $pid 2>/dev/null || break
    sleep 0.1
  done
  env "${PROXIES[@]}" "$ADAMROUTE" ask "$WORK/base.yaml" "a striped mug" -n 3 --url "${url:-http://127.0.0.1:9}" \
    >"$WORK/answer" 2>>"$WORK/err"
  local asked=$?
  kill -TERM $pid 2>/dev/null
  wait $pid
  local code=$?
  judge "$name" 0 "" $((asked + code))
}
served "server: long TMPDIR, proxies, no HOME" env -u HOME TMPDIR="$LONG" "${PROXIES[@]}"
if is_root && unshare -m true 2>/dev/null; then
  served "server: small /dev/shm" unshare -m sh -c 'mount -t tmpfs -o size=16m none /dev/shm && exec "$@"' sh
else
  skip "server: small /dev/shm" "needs root, and to be allowed to mount"
fi
if [[ -n ${NOBODY+x} ]]; then
  chmod -R a+rX "$WORK/base"; mkdir -p "$WORK/base/serve"; chown -R 65534 "$WORK/base"
  served "server: nobody" "${NOBODY[@]}"
fi
if wanted "server: TERM as it starts"; then
  "$ADAMROUTE" serve "$WORK/base.yaml" >"$WORK/said" 2>"$WORK/err" </dev/null &
  pid=$!
  for _ in $(seq 600); do pgrep -P $pid >/dev/null && break; sleep 0.1; done # Ray's first process
  kill -TERM $pid
  wait $pid
  judge "server: TERM as it starts" 143 "SIGTERM" $?
fi
"${PYTHON:-$(dirname "$(readlink -f "$ADAMROUTE")")/python}" -c 'import socket, time
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True); time.sleep(600)' >"$WORK/port" &
holder=$!
for _ in $(seq 50); do [[ -s $WORK/port ]] && break; sleep 0.1; done
config "$WORK/port.yaml" "$WORK/shop" "$WORK/base" && sed -i "s/port: 0/port: $(cat "$WORK/port")/" "$WORK/port.yaml"
try "server: a port in use" 2 "cannot listen" "$ADAMROUTE" serve "$WORK/port.yaml"
kill $holder 2>/dev/null

echo
if [[ $BAD == 0 ]]; then echo "all well in $SECONDS s"; else echo "$BAD not ok, in $SECONDS s"; exit 1; fi
