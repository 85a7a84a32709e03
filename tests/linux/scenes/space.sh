#!/bin/sh
# A namespace that promises more than the pool can hold is filled until writes are
# refused, trimmed, and filled again: what was written before the refusal is there, so is
# what lay beside it, and each trim brings the space back at once.
#
# PORT    the target, and its discovery service
# NQN     the subsystem (default: the first that discovery names)
# CYCLES  how often (5)
#
# Destroys what is on the first namespace, which must have at least 256 MiB and a pool
# that takes at most 112 MiB.
. lib.sh

# Where what is kept ends, and what is filled begins.
FIRST_MIB=80
# Data that do not compress. Each cycle begins to write them one MiB further on, so that
# no block gets what it had before.
SOURCE_MIB=80

# fill MIB: writes from there until the target refuses; sets FILLED_MIB.
fill() {
    LC_ALL=C dd if=/tmp/source of="$DEV" bs=1M seek="$1" oflag=direct 2>/tmp/dd && fail "the pool takes all of it"
    cat /tmp/dd
    grep -q 'No space left on device' /tmp/dd || fail "the write was refused for another reason"
    FILLED_MIB=$(sed -n 's/+.* records out$//p' /tmp/dd)
}
check_filled() {
    dd if="$DEV" bs=1M skip="$1" count="$FILLED_MIB" iflag=direct 2>/dev/null |
        must cmp -n "$((FILLED_MIB << 20))" - /tmp/source || fail "what was written reads otherwise"
}
trim() {
    must blkdiscard -o "$((FIRST_MIB << 20))" -l "$(((SOURCE_MIB + CYCLES) << 20))" "$DEV"
    dd if="$DEV" bs=1M skip="$1" count=4 iflag=direct 2>/dev/null | must cmp -n $((4 << 20)) - /dev/zero ||
        fail "what was trimmed is still there"
}

CYCLES=${CYCLES:-5}
attach
keep_data
must dd if=/dev/urandom of=/tmp/source bs=1M count="$SOURCE_MIB"

for cycle in $(seq "$CYCLES"); do
    step "cycle $cycle: fill"
    begin=$((FIRST_MIB + cycle))
    fill "$begin"
    echo "MiB written before the refusal: $FILLED_MIB"
    FIRST_FILL_MIB=${FIRST_FILL_MIB:-$FILLED_MIB}
    [ "$FILLED_MIB" -ge $((FIRST_FILL_MIB * 9 / 10)) ] || fail "the trim has not brought the space back"
    check_filled "$begin"
    check_data
    step "cycle $cycle: trim"
    trim "$begin"
done

check_data
detach
step "passed"
