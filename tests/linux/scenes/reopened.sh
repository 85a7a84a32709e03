#!/bin/sh
# A pool loses more drives than its level survives while verified load runs, and is opened
# anew with one of them: until then the host is refused or reads what is right, and then
# it goes on with the disk that it had.
#
# PORT  the target, and its discovery service
# NQN   the subsystem (default: the first that discovery names)
# IOS   I/Os after each event, at least (300)
#
# The host takes two drives away at once on `READY lose-two`, brings one back on `READY
# return`, and the other one on `READY return-another`, after which it answers once
# nothing is left to be rebuilt.
#
# Destroys what is on the first 80 MiB of the first namespace.
. lib.sh

# A number that no other disk gets until the next boot.
which_disk() { cat "/sys/block/${DEV#/dev/}/diskseq"; }
is_same_disk() { [ "$(which_disk)" = "$DISK" ] || fail "the disk is another one: $(which_disk), not $DISK"; }

# What can be read of what was kept is right.
check_what_is_read() {
    local piece=0 read=0
    while [ $piece -lt 16 ]; do
        dd if=/tmp/kept of=/tmp/right bs=256k skip=$piece count=1 2>/dev/null
        if dd if="$DEV" of=/tmp/is bs=256k skip=$((256 + piece)) count=1 iflag=direct 2>/dev/null; then
            must cmp /tmp/right /tmp/is
            read=$((read + 1))
        fi
        piece=$((piece + 1))
    done
    echo "$read of 16 pieces can be read"
}
write_scratch() { dd if=/tmp/kept of="$DEV" bs=64k count=1 seek=$((72 * 16)) oflag=direct; }

# shellcheck disable=SC2086 # options are words
attach $PATIENT
keep_data
DISK=$(which_disk)

step "load that goes on where it is refused"
start_load refused
step "two drives are lost"
host_does lose-two
await_load_io "${IOS:-300}"
must_not write_scratch
check_what_is_read
is_same_disk

step "one comes back"
host_does return
is_same_disk
must write_scratch
await_load_io "${IOS:-300}"
end_load
check_data

step "load that is refused nothing"
start_load
go_on_under_load
step "the other one comes back"
host_does return-another
go_on_under_load
end_load
check_data
is_same_disk
detach
step "passed"
