#!/bin/sh
# Runs this bundle on ASTRA-sim 1.0: ASTRA_SIM_1=path/to/its/binary ./run.sh
# ASTRA-sim's own exit status says nothing; this one is
#   0  all passes finished
#   1  ASTRA-sim ended, and not all passes had finished
#   2  ASTRA-sim cannot be run: no binary, one for something else, no folder to write into
#   3  ASTRA-sim crashed on its own memory, 10 times in a row
#   129 to 192  somebody ended it, with the signal that is 128 less
simulator=${ASTRA_SIM_1:?"name the ASTRA-sim 1.0 binary"}
case $simulator in
  /*) ;;
  */*) simulator=$PWD/$simulator ;;
esac
command -v "$simulator" >/dev/null || {
  echo "run.sh: ASTRA_SIM_1 names no program: $simulator" >&2
  exit 2
}
unset CDPATH
cd "$(dirname "$0")" || exit 2
mkdir -p results 2>/dev/null
[ -d results ] && elsewhere= || elsewhere=yes
for file in results */*; do
  [ -w "$file" ] || [ ! -e "$file" ] || elsewhere=yes # traces too: they are opened for appending
done
if [ "$elsewhere" ]; then
  bundle=$PWD
  place=$(mktemp -d "${TMPDIR:-/tmp}/astra-sim.XXXXXX") && cd "$place" && mkdir results || exit 2
  for file in "$bundle"/*; do
    [ "${file##*/}" = results ] || cp -R "$file" . || exit 2
  done
  chmod -R u+w .
  echo "run.sh: $bundle is read-only; this runs in a copy, and results/ is in $place" >&2
fi

# Every $PROGRESS seconds a sign of life, for as long as this script lives.
(
  seconds=0
  while sleep 1 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
    seconds=$((seconds + 1))
    [ $((seconds % ${PROGRESS:-10})) -ne 0 ] || echo "run.sh: $seconds s, ASTRA-sim is running" >&2
  done
) </dev/null >/dev/null &
ticker=$!
trap 'kill $ticker 2>/dev/null' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

run() {
  {
    "$simulator" \
      --network-configuration=network.json \
      --system-configuration=system.txt \
      --workload-configuration=workload.txt \
      --path=results/ \
      --run-name=astrac \
      --num-passes=1 \
      --total-stat-rows=1 \
      --stat-row=0
    printf 'run.sh: status %s\n' $?
  } 2>&1 | awk '
    match($0, /run\.sh: status [0-9]+$/) {
      status = substr($0, RSTART + 15)
      if (RSTART == 1) next
      $0 = substr($0, 1, RSTART - 1)
    }
    { print; fflush() }
    /Assertion|terminate called/ { told = 1 }
    match($0, /all passes finished at time: [0-9]+/) {
      words = split(substr($0, RSTART, RLENGTH), number, /[^0-9]+/)
      if (!(number[words - 1] in cycles)) done++
      cycles[number[words - 1]] = number[words]
      if (done == 1 || number[words] + 0 > slowest + 0) slowest = number[words]
    }
    END {
      if (done == 1) {
        print "run.sh: all passes finished; simulator " slowest " cycles, estimate 11170827 cycles"
        exit 0
      }
      ended = "run.sh: " (done + 0) " of 1 passes finished; ASTRA-sim "
      if (!told && (status == 134 || status == 139)) {
        print ended "crashed on its own memory (signal " (status - 128) ") and lost its last lines" > "/dev/stderr"
        exit 3
      }
      if (status == 126 || status == 127) exit 2
      if (status > 128 && status < 193 && !told) {
        print ended "was ended by signal " (status - 128) > "/dev/stderr"
        exit status
      }
      print ended "ended by itself (status " status "), and its last lines say why" > "/dev/stderr"
      exit 1
    }
  '
}

attempt=1
while run; verdict=$?; [ $verdict -eq 3 ] && [ $attempt -lt 10 ]; do
  attempt=$((attempt + 1))
  echo "run.sh: again, attempt $attempt of 10" >&2
done
exit $verdict
