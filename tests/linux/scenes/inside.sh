#!/bin/sh
# Ashlar itself in the guest, in a control group with the least memory that it is meant to
# run in: it serves verified load, with as much outstanding as the client will have, is killed
# under load and starts again, and never is out of memory. The machine's clock jumps by ten
# years, and no host is dropped.
#
#   run --file PATH-OF-ASHLAR inside
#
# ASHLAR      the name of the program (ashlar)
# MEMORY_MIB  the limit (256)
. lib.sh
ASHLAR=${ASHLAR:-ashlar} MEMORY_MIB=${MEMORY_MIB:-256}

export HOST=10.0.2.15 PORT=4420 DISCOVERY_PORT=4421 ASHLAR_SOCKET=/run/ashlar.sock
GROUP=/sys/fs/cgroup/ashlar

make_group() {
    must mount -t cgroup2 cgroup2 /sys/fs/cgroup
    echo +memory >/sys/fs/cgroup/cgroup.subtree_control || fail "there is no memory controller"
    mkdir "$GROUP"
    echo "${MEMORY_MIB}M" >"$GROUP/memory.max"
}
# Drives whose memory is this script's, not the group's: it has been taken before.
make_drives() {
    must modprobe loop
    DRIVES=
    for number in 0 1 2 3 4; do
        must dd if=/dev/zero of="/tmp/drive-$number" bs=1M count=48
        DRIVES="$DRIVES --drive $(losetup -f)"
        must losetup "$(losetup -f)" "/tmp/drive-$number"
    done
}
serve() {
    mkdir -p /run/state
    sh -c "echo \$\$ >$GROUP/cgroup.procs
        exec $ASHLAR serve --state /run/state --socket $ASHLAR_SOCKET --listen $HOST:$PORT \
            --discovery $HOST:$DISCOVERY_PORT" >/tmp/ashlar.log 2>&1 &
    DAEMON=$!
    within 30 serves || fail "the daemon does not serve: $(cat /tmp/ashlar.log)"
}
serves() { $ASHLAR status >/dev/null 2>&1; }
# Years are those of 365 days.
jump_clock() { must date -s "@$(($(date +%s) + $1 * 365 * 86400))"; }
of_group() { sed -n "s/^$2 //p" "$GROUP/$1"; }

step "a control group of $MEMORY_MIB MiB"
make_group
make_drives
serve
# shellcheck disable=SC2086 # options are words
must $ASHLAR pool create tank --level 5 --overcommit $DRIVES
must $ASHLAR volume create tank/v0 --size 128MiB --allow any
# A keep alive every two and a half seconds.
# shellcheck disable=SC2086 # options are words
attach --nr-io-queues="$(nproc)" --keep-alive-tmo=5 $PATIENT

step "load"
must fio_verified --filename="$DEV" --size=48m --bsrange=4k-256k

step "requests of maximum size, 96 outstanding"
must fio_verified --filename="$DEV" --numjobs=4 --offset_increment=24m --size=24m --bs=1m --iodepth=24

step "the clock jumps by ten years, forth and back"
start_load
for years in 10 -10 -10 10; do
    jump_clock $years
    await_load_io 100
done
[ "$(reconnections)" = 0 ] || fail "the host had to reconnect"
! grep 'expired' /tmp/ashlar.log || fail "Ashlar has lost patience"

step "a kill under load"
kill -KILL "$DAEMON"
serve
within 60 has_reconnected 0 || fail "the host has not reconnected"
await_load_io 100
end_load

step "what it took"
kill -0 "$DAEMON" || fail "the daemon has ended: $(tail -n 5 /tmp/ashlar.log)"
grep -E 'VmHWM|VmRSS' "/proc/$DAEMON/status"
echo "peak of the group, in bytes: $(cat "$GROUP/memory.peak"); at its limit $(of_group memory.events max) times"
[ "$(of_group memory.events oom)" = 0 ] || fail "the group ran out of memory"
detach
must kill -TERM "$DAEMON"
wait "$DAEMON" || fail "the daemon ended with status $?"
step "passed"
