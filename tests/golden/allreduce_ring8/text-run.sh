#!/bin/sh
# Runs this bundle on ASTRA-sim 1.0: ASTRA_SIM_1=path/to/its/binary ./run.sh
# Succeeds exactly when "all passes finished" appears; ASTRA-sim's own exit status says nothing about that.
simulator=${ASTRA_SIM_1:?"name the ASTRA-sim 1.0 binary"}
case $simulator in
  /*) ;;
  */*) simulator=$PWD/$simulator ;;
esac
cd "$(dirname "$0")" || exit 2
mkdir -p results || exit 2

"$simulator" \
  --network-configuration=network.json \
  --system-configuration=system.txt \
  --workload-configuration=workload.txt \
  --path=results/ \
  --run-name=astrac \
  --num-passes=1 \
  --total-stat-rows=1 \
  --stat-row=0 2>&1 |
  awk '
    { print }
    match($0, /all passes finished at time: [0-9]+/) {
      cycles = substr($0, RSTART + 29, RLENGTH - 29)
    }
    /all passes finished/ { finished = 1 }
    END {
      if (!finished) {
        print "run.sh: the passes did not finish" > "/dev/stderr"
        exit 1
      }
      print "run.sh: all passes finished; simulator " cycles " cycles, estimate 37615157 cycles"
    }
  '
