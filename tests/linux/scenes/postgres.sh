#!/bin/sh
# PostgreSQL on ext4 on the first namespace: the target is killed again and again while
# several writers commit rows, and then the guest loses its power. Every commit that was
# acknowledged to any of them is there, and no page is damaged.
#
# PORT   the target, and its discovery service
# NQN    the subsystem (default: the first that discovery names)
# KILLS  how often the target is killed (3)
#
# The host kills the target and starts it again on `READY kill`. On `READY reset` the
# guest is reset (run --reset-on 'READY reset'); without it, PostgreSQL alone is killed.
# Needs run --with postgres.
#
# Destroys what is on the namespace.
. lib.sh

# Commits that have to be acknowledged between one kill and the next, by all together.
COMMITS=150
# Who commits.
WRITERS="1 2 3"

PATH=$PATH:/usr/lib/postgresql/17/bin
export PGHOST=/tmp PGUSER=postgres PGDATABASE=postgres PGDATA=/mnt/data TZ=GMT

# By its path: the shell would take BusyBox's own, which knows no users.
as_postgres() { /usr/bin/setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }

make_cluster() {
    must mkfs.ext4 -q -F "$DEV"
    must mount -t ext4 "$DEV" /mnt
    install -d -o postgres -g postgres -m 700 "$PGDATA"
    must as_postgres initdb --data-checksums --no-locale --encoding=UTF8 --auth=trust --no-instructions
}
start_postgres() {
    [ -d /dev/shm ] || { mkdir /dev/shm && mount -t tmpfs -o mode=1777 shm /dev/shm; }
    must as_postgres pg_ctl start --silent --wait --log=/tmp/postgres.log -o '-k /tmp -h ""' || cat /tmp/postgres.log
}
stop_postgres() { must as_postgres pg_ctl stop --silent --wait --mode="$1"; }
ask() { psql --quiet --no-psqlrc --tuples-only --no-align --set=ON_ERROR_STOP=1 --command="$1"; }

# commit_as WRITER: one transaction for each number from 1 on. psql names a number once its
# commit has been acknowledged: on standard error, which it does not buffer, and word by word,
# which would mix with other lines.
commit_as() {
    number=1
    while :; do
        echo "INSERT INTO journal VALUES ($1, $number, repeat(md5('$1 $number'), 8));"
        echo "\\warn committed $1 $number"
        number=$((number + 1))
    done | psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 2>&1 | while read -r line; do
        echo "$line" >>/tmp/commits
        echo "$line"
    done
    echo "writer $1 has ended"
}
# last_of WRITER RECORD: its last commit that the record names; 0 if none.
last_of() { sed -n "s/^committed $1 //p" "$2" | tail -n 1 | grep . || echo 0; }
committed() { grep -c '^committed' /tmp/commits; }
all_write() {
    for pid in $PIDS; do kill -0 "$pid" 2>/dev/null || return 1; done
}
has_committed() { [ "$(committed)" -ge "$1" ] || ! all_write; }
await_commits() {
    target=$(($(committed) + COMMITS))
    within 120 has_committed "$target" || fail "no progress: $(committed) commits"
    all_write || fail "PostgreSQL has ended a writer: $(tail -n 5 /tmp/postgres.log)"
}

# check_commits WRITER N: all its numbers to N are there, each with what belongs to it.
check_commits() {
    found=$(ask "SELECT count(*) FROM journal WHERE writer = $1 AND number <= $2
        AND content = repeat(md5(writer || ' ' || number), 8)")
    rows=$(ask "SELECT count(*) FROM journal WHERE writer = $1")
    echo "writer $1: acknowledged $2 commits; found: $found; rows: $rows"
    [ "$found" = "$2" ] || fail "acknowledged commits are missing"
}
check_pages() {
    must pg_amcheck --install-missing --heapallindexed
    stop_postgres fast
    must as_postgres pg_checksums --check
    must umount /mnt
    must e2fsck -f -n "$DEV"
}

# shellcheck disable=SC2086 # options are words
attach $PATIENT
if [ "$BOOT" = 1 ]; then
    step "a cluster with checksums, on ext4"
    make_cluster
    start_postgres
    ask 'CREATE TABLE journal (writer int, number bigint, content text, PRIMARY KEY (writer, number))' ||
        fail "no table"

    step "commits"
    : >/tmp/commits
    PIDS=
    for writer in $WRITERS; do
        commit_as "$writer" &
        PIDS="$PIDS $!"
    done
    await_commits
    for kill in $(seq "${KILLS:-3}"); do
        step "kill $kill"
        before=$(reconnections)
        host_does kill
        within 120 has_reconnected "$before" || fail "the host has not reconnected"
        await_commits
    done

    step "the guest loses its power"
    host_may reset || true
    stop_postgres immediate
    cp /tmp/commits /rig/said
else
    step "after the loss of power"
    must mount -t ext4 "$DEV" /mnt
fi

step "PostgreSQL recovers"
start_postgres
for writer in $WRITERS; do check_commits "$writer" "$(last_of "$writer" /rig/said)"; done
step "every page"
check_pages
detach
step "passed"
