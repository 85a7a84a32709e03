#!/bin/sh
# A drive of the pool is lost while verified load runs: the host sees no error and no
# wrong byte, nor after a restart without the drive, nor after one with the drive put
# back as it was when it was lost.
#
# PORT  the target, and its discovery service
# NQN   the subsystem (default: the first that discovery names)
# IOS   I/Os after each event, at least (300)
#
# The host takes a drive away on `READY lose-drive`. It may restart the target without
# it on `READY restart-without-drive`, and with its stale content back in place on
# `READY restart-with-stale-drive`.
#
# Destroys what is on the first 80 MiB of the first namespace.
. lib.sh

# shellcheck disable=SC2086 # options are words
attach $PATIENT
keep_data

step "load"
start_load
step "a drive is lost"
host_does lose-drive
go_on_under_load

for event in restart-without-drive restart-with-stale-drive; do
    step "$event"
    if host_may "$event"; then go_on_under_load; else echo "the host has nothing to do"; fi
done

step "end of the load"
end_load
check_data
detach
step "passed"
