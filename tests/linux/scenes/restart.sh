#!/bin/sh
# The target is restarted while verified load runs: the host reconnects by itself,
# fio ends without an error, and data written before is still there.
#
# PORT      the target, and its discovery service
# NQN       the subsystem (default: the first that discovery names)
# RESTARTS  how often (6)
# IOS       I/Os between one restart and the next, at least (300)
#
# The host restarts the target on `READY restart`: it may stop it in order, or kill it.
#
# Destroys what is on the first 80 MiB of the first namespace.
. lib.sh

# shellcheck disable=SC2086 # options are words
attach $PATIENT
keep_data

step "load"
start_load
for restart in $(seq "${RESTARTS:-6}"); do
    step "restart $restart"
    before=$(reconnections)
    host_does restart
    within 120 has_reconnected "$before" || fail "the host has not reconnected"
    go_on_under_load
done

step "end of the load"
end_load
check_data
detach
step "passed"
