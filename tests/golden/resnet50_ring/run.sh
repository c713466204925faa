#!/bin/sh
# Runs this bundle on ASTRA-sim 2.x, congestion_unaware: ASTRA_SIM=path/to/its/binary ./run.sh
# Succeeds exactly when all 8 ranks print "finished"; ASTRA-sim's own exit status says nothing about that.
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
cd "$(dirname "$0")" || exit 2

"$simulator" \
  --workload-configuration=workload/resnet50 \
  --system-configuration=system.json \
  --remote-memory-configuration=memory.json \
  --network-configuration=network.yml 2>&1 |
  awk '
    { print }
    match($0, /sys\[[0-9]+\] finished, [0-9]+ cycles/) {
      split(substr($0, RSTART, RLENGTH), number, /[^0-9]+/)
      if (!(number[2] in cycles)) ranks++
      cycles[number[2]] = number[3]
      if (ranks == 1 || number[3] + 0 > slowest + 0) slowest = number[3]
    }
    END {
      if (ranks != 8) {
        print "run.sh: " (ranks + 0) " of 8 ranks finished" > "/dev/stderr"
        exit 1
      }
      print "run.sh: all 8 ranks finished; simulator " slowest " cycles, estimate 11291779 cycles"
    }
  '
