#!/bin/sh
# Runs this bundle on ASTRA-sim 2.x, congestion_unaware: ASTRA_SIM=path/to/its/binary ./run.sh
# ASTRA-sim's own exit status says nothing; this one is
#   0  all 64 ranks finished
#   1  ASTRA-sim ended, and not all 64 ranks had finished
#   2  ASTRA-sim cannot be run: no binary, one for something else, no folder to write into
#   3  ASTRA-sim crashed on its own memory, 10 times in a row
#   129 to 192  somebody ended it, with the signal that is 128 less
simulator=${ASTRA_SIM:?"name the ASTRA-sim 2.x binary"}
case $simulator in
  /*) ;;
  */*) simulator=$PWD/$simulator ;;
esac
case ${simulator##*/} in
  *Congestion_Aware*)
    echo "run.sh: this bundle is for congestion_unaware, and $simulator is congestion_aware" >&2
    exit 2
    ;;
esac
command -v "$simulator" >/dev/null || {
  echo "run.sh: ASTRA_SIM names no program: $simulator" >&2
  exit 2
}
unset CDPATH
cd "$(dirname "$0")" || exit 2
mkdir -p log 2>/dev/null
[ -d log ] && elsewhere= || elsewhere=yes
for file in log */*; do
  [ -w "$file" ] || [ ! -e "$file" ] || elsewhere=yes # traces too: they are opened for appending
done
if [ "$elsewhere" ]; then
  bundle=$PWD
  place=$(mktemp -d "${TMPDIR:-/tmp}/astra-sim.XXXXXX") && cd "$place" && mkdir log || exit 2
  for file in "$bundle"/*; do
    [ "${file##*/}" = log ] || cp -R "$file" . || exit 2
  done
  chmod -R u+w .
  echo "run.sh: $bundle is read-only; this runs in a copy, and log/ is in $place" >&2
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
      --workload-configuration=workload/mixtral \
      --system-configuration=system.json \
      --remote-memory-configuration=memory.json \
      --network-configuration=network.yml
    printf 'run.sh: status %s\n' $?
  } 2>&1 | awk '
    match($0, /run\.sh: status [0-9]+$/) {
      status = substr($0, RSTART + 15)
      if (RSTART == 1) next
      $0 = substr($0, 1, RSTART - 1)
    }
    { print; fflush() }
    /Assertion|terminate called/ { told = 1 }
    match($0, /sys\[[0-9]+\] finished, [0-9]+/) {
      words = split(substr($0, RSTART, RLENGTH), number, /[^0-9]+/)
      if (!(number[words - 1] in cycles)) done++
      cycles[number[words - 1]] = number[words]
      if (done == 1 || number[words] + 0 > slowest + 0) slowest = number[words]
    }
    END {
      if (done == 64) {
        print "run.sh: all 64 ranks finished; simulator " slowest " cycles, estimate 93221995 cycles"
        exit 0
      }
      ended = "run.sh: " (done + 0) " of 64 ranks finished; ASTRA-sim "
      if (!told && (status == 134 || status == 139)) {
        print ended "crashed on its own memory (signal " (status - 128) ") and lost its last lines: AS807 says where it does" > "/dev/stderr"
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
