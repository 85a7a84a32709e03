#!/bin/sh
# Drives of the pool are pulled, replaced, given up and brought back while verified load
# runs, and what lived on them is rebuilt each time: the host sees no error and no wrong
# byte.
#
# PORT  the target, and its discovery service
# NQN   the subsystem (default: the first that discovery names)
# IOS   I/Os after each event, at least (300)
#
# The host pulls a drive on `READY pull`, and a second one on `READY pull-another`; puts
# a new one in the place of the first on `READY replace`; and takes a drive away and
# gives it back on `READY fail` and `READY return`. It answers once nothing is left to
# be rebuilt, but for `fail`.
#
# Destroys what is on the first 80 MiB of the first namespace.
. lib.sh

# shellcheck disable=SC2086 # options are words
attach $PATIENT
keep_data

step "load"
start_load
for event in pull replace pull-another fail return; do
    step "$event"
    host_does "$event"
    go_on_under_load
done

step "end of the load"
end_load
check_data
detach
step "passed"
