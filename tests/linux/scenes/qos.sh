#!/bin/sh
# A limit of a volume is held, whichever of two hosts asks, and whoever waits notices at once that it
# is lifted. The hosts are two names of this guest, with connections of their own.
#
# PORT  the target, and its discovery service
# NQN   the subsystem (default: the first that discovery names)
#
# The host's steps: `limit` to LIMIT commands per second, `lift`. A burst of a second makes up for
# what a busy machine is late.
. lib.sh
LIMIT=${LIMIT:-40}
SECOND_HOSTID=5f0c6a1e-7d44-4a0b-8a55-2f6b1c9d7e10
SECOND_HOSTNQN=nqn.2014-08.org.nvmexpress:uuid:$SECOND_HOSTID

# Each host has a path of its own to the volume, and takes every other command.
paths() { find /sys/class/nvme/nvme*/ -maxdepth 1 -name "nvme*c*n*" | wc -l; }
has_two_paths() { [ "$(paths)" -ge 2 ]; }

# iops_of SECONDS: commands per second that end in that time under a load that asks for more. What
# was saved up before is spent by then.
iops_of() {
    local load ios_before began
    fio --name=load --filename="$DEV" --ioengine=libaio --direct=1 --rw=randread --bs=4k \
        --iodepth=32 --time_based --runtime=$(($1 + 5)) >/tmp/load.out 2>&1 &
    load=$!
    sleep 4
    ios_before=$(ios) began=$(hundredths)
    sleep "$1"
    echo $((($(ios) - ios_before) * 100 / ($(hundredths) - began)))
    wait "$load" || { cat /tmp/load.out >&2; return 1; }
}

# is_held IOPS: within a twentieth of the limit. The simulation and ashlar-bench --only qos look at
# each second.
is_held() { [ $(($1 * 100)) -ge $((LIMIT * 95)) ] && [ $(($1 * 100)) -le $((LIMIT * 105)) ]; }

# What is never right: the burst of a second makes up for a stop of the machine before, and no more.
is_exceeded() { [ $(($1 * 100)) -gt $((LIMIT * 115)) ]; }

step "two hosts"
attach
must nvme connect -t tcp -a "$HOST" -s "$PORT" -n "$NQN" --hostnqn="$SECOND_HOSTNQN" \
    --hostid="$SECOND_HOSTID"
within 30 has_two_paths || fail "the second host has no path of its own"
for policy in /sys/class/nvme-subsystem/*/iopolicy; do echo round-robin >"$policy"; done

step "without a limit"
free=$(iops_of 3)
echo "$free commands per second"
[ "$free" -gt $((LIMIT * 2)) ] || fail "the limit would not be noticed"

step "held to $LIMIT"
host_does limit
# A machine that is busy with other scenes may stop this one for seconds.
for _ in 1 2 3; do
    held=$(iops_of 10)
    echo "$held commands per second"
    ! is_exceeded "$held" || fail "$held commands per second are more than $LIMIT allows"
    ! is_held "$held" || break
done
is_held "$held" || fail "$held commands per second are not what $LIMIT allows"

step "lifted"
host_does lift
lifted=$(iops_of 3)
echo "$lifted commands per second"
[ "$lifted" -gt $((LIMIT * 2)) ] || fail "the limit is still held"
must nvme disconnect-all
step "passed"
