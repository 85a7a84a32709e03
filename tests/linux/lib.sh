# What the scenes have in common: `. lib.sh`.
#
# HOST and PORT  where the target listens
# DISCOVERY_PORT its discovery service (default: PORT)
# NQN            the subsystem (default: the first that discovery names)
DISCOVERY_PORT=${DISCOVERY_PORT:-$PORT}

# The host's answers come on standard input, where no other program may take them.
exec 3<&0 </dev/null

# --- saying and judging ------------------------------------------------------------

# step WORDS...: says what comes next, with the seconds since boot.
step() { echo "== [$(cut -d' ' -f1 /proc/uptime)] $*"; }

# fail WORDS...: ends the scene.
fail() {
    echo "FAILED: $*"
    exit 1
}

# must COMMAND...: shows the command and runs it; the scene fails with it.
must() {
    echo "\$ $*"
    "$@" || fail "status $? of: $*"
}

# must_not COMMAND...: the same for a command that has to be refused.
must_not() {
    echo "\$ $*   (has to be refused)"
    ! "$@" || fail "was not refused: $*"
}

# within SECONDS COMMAND...: repeats a silent check until it holds.
within() {
    local deadline=$(($(hundredths) + $1 * 100))
    shift
    until "$@"; do
        [ "$(hundredths)" -lt "$deadline" ] || return 1
        usleep 20000
    done
}

# Hundredths of a second since boot.
hundredths() { cut -d' ' -f1 /proc/uptime | tr -d .; }

# --- attaching -------------------------------------------------------------------------

# discovered [OPTION...]: the NVM subsystems that discovery names.
discovered() {
    nvme discover -t tcp -a "$HOST" -s "$DISCOVERY_PORT" "$@" |
        awk '/^subtype:/ { nvm = /nvme subsystem/ } /^subnqn:/ && nvm { print $2 }' | sort -u
}

# attach [OPTION...]: connects to the subsystem and waits for its first namespace.
# Sets NQN, CTRL (nvme0) and DEV (/dev/nvme0n1).
attach() {
    NQN=${NQN:-$(discovered | sed -n 1p)}
    [ -n "$NQN" ] || fail "discovery on $HOST:$DISCOVERY_PORT names no subsystem"
    must nvme connect -t tcp -a "$HOST" -s "$PORT" -n "$NQN" "$@"
    within 30 has_namespace || fail "no namespace of $NQN has appeared"
    CTRL=$(controllers | sed -n 1p)
    DEV=$(namespaces | sed -n 1p)
}

# detach: disconnects and waits until the namespaces are gone.
detach() {
    must nvme disconnect -n "$NQN"
    within 30 has_no_controller || fail "the controller of $NQN is still there"
}

# The controllers of NQN: nvme0 ...
controllers() {
    local path
    for path in /sys/class/nvme/nvme*; do
        [ "$(cat "$path/subsysnqn" 2>/dev/null)" != "$NQN" ] || basename "$path"
    done
}

# The block devices of NQN: /dev/nvme0n1 ...  One in which nothing is left to read
# (size 0) is on its way out.
namespaces() {
    local subsystem disk
    for subsystem in /sys/class/nvme-subsystem/*; do
        [ "$(cat "$subsystem/subsysnqn" 2>/dev/null)" = "$NQN" ] || continue
        for disk in "$subsystem"/nvme*n*; do
            [ "$(cat "$disk/size" 2>/dev/null || echo 0)" -gt 0 ] && echo "/dev/${disk##*/}"
        done
    done
    return 0
}

# The options with which a host outlives a restart of the target.
PATIENT="--reconnect-delay=1 --ctrl-loss-tmo=120"
reconnections() { dmesg | grep -c 'Successfully reconnected'; }
has_reconnected() { [ "$(reconnections)" -gt "$1" ]; }

has_namespace() { [ -n "$(namespaces)" ]; }
has_no_controller() { [ -z "$(controllers)" ]; }

# --- file systems --------------------------------------------------------------------------

# Of kind FS (ext4 or xfs), on DEV.
make_file_system() {
    case $FS in
    ext4) must mkfs.ext4 -q -F "$DEV" ;;
    xfs) must mkfs.xfs -q -f "$DEV" ;;
    *) fail "FS is ext4 or xfs, not '$FS'" ;;
    esac
}
check_file_system() {
    case $FS in
    ext4) must e2fsck -f -n "$DEV" ;;
    xfs) must xfs_repair -n "$DEV" ;;
    esac
}

# --- load and data -----------------------------------------------------------------------

# fio_verified OPTION...: random reads and writes; every block written is read back and
# compared with its checksum.
#
# It ignores SIGPIPE. Linux's initiator sends a command to the socket in the context of
# the program that submits it, and without MSG_NOSIGNAL: a program that submits between
# the target's reset and the moment when the host notices it is sent a SIGPIPE.
fio_verified() (
    trap '' PIPE
    exec fio --name=verified --rw=randrw --ioengine=libaio --iodepth=16 --direct=1 \
        --verify=crc32c --verify_fatal=1 --do_verify=1 "$@"
)

# start_load [refused]: two jobs of verified load on the first 8 MiB of DEV, round after
# round until end_load: one of them has I/O under way at any time. Where it may be refused,
# a round ends with the first error, and the next one begins.
start_load() {
    rm -f /tmp/load.*
    LOAD=
    for job in 0 1; do
        load_job "$job" "$@" &
        LOAD="$LOAD $!"
    done
    for job in 0 1; do
        within 300 load_has_begun "$job" || fail "the load makes no progress"
    done
    load_is_well
}
load_job() {
    local round=0 output=/tmp/load.$1.out
    until [ -e /tmp/load.end ]; do
        round=$((round + 1))
        if ! fio_verified --filename="$DEV" --offset="$(($1 * 4))m" --size=4m \
            --bsrange=4k-64k --randseed="$round" >"$output" 2>&1; then
            if [ "$2" != refused ] || ! was_refused "$output"; then
                mv "$output" "/tmp/load.$1.failed"
                return
            fi
        fi
        echo "$round" >"/tmp/load.$1.round"
    done
}
# was_refused FILE: the disk has given fio errors, and nothing that was wrong.
was_refused() { grep -q ': io_u error on file ' "$1" && ! grep -qE 'verify: |verify failed' "$1"; }

rounds() { cat "/tmp/load.$1.round" 2>/dev/null || echo 0; }
# Its first round has ended.
load_has_begun() { [ -e "/tmp/load.$1.round" ] || [ -e "/tmp/load.$1.failed" ]; }
load_is_well() {
    local failed
    for failed in /tmp/load.*.failed; do
        [ ! -e "$failed" ] || { cat "$failed"; fail "fio has ended with an error"; }
    done
}
# await_load_io N: until that many I/Os more have ended, in whatever round they are.
await_load_io() {
    local target
    target=$(($(ios) + $1))
    within 300 has_done_io "$target" || fail "the load makes no progress"
    load_is_well
}
ios() { awk '{ print $1 + $5 }' "/sys/block/${DEV#/dev/}/stat"; }
# True as well where no more will be done.
has_done_io() { [ "$(ios)" -ge "$1" ] || ls /tmp/load.*.failed >/dev/null 2>&1; }
end_load() {
    touch /tmp/load.end
    # shellcheck disable=SC2086 # they are several
    wait $LOAD
    load_is_well
    echo "rounds of verified load: $(rounds 0) and $(rounds 1)"
}

# keep_data: 4 MiB beyond the load's, which nothing writes again.
keep_data() {
    dd if=/dev/urandom of=/tmp/kept bs=1M count=4 2>/dev/null
    must dd if=/tmp/kept of="$DEV" bs=1M seek=64 oflag=direct
}
check_data() {
    must dd if="$DEV" of=/tmp/kept.read bs=1M skip=64 count=4 iflag=direct
    must cmp /tmp/kept /tmp/kept.read
}

# go_on_under_load: the load goes on for IOS (300) I/Os, and what was kept is as it was.
go_on_under_load() {
    await_load_io "${IOS:-300}"
    check_data
}

# --- the host's part of a scene ------------------------------------------------------

# host_does STEP: asks the host to do its part, and waits until it is done. Whoever
# drives the scene reacts to the line `READY STEP` (run --on 'READY STEP' COMMAND).
host_does() {
    case $(ask_host "$1") in
    done) ;;
    nothing) fail "nobody acts on 'READY $1' (run --on 'READY $1' COMMAND)" ;;
    *) fail "the host's command for 'READY $1' failed" ;;
    esac
}

# host_may STEP: the same where the host may have nothing to do. True if it had.
host_may() {
    case $(ask_host "$1") in
    done) ;;
    nothing) return 1 ;;
    *) fail "the host's command for 'READY $1' failed" ;;
    esac
}

# Prints the answer: done, nothing or failed. NVMET_STEPS, a program, stands in for
# the host where the target is in the guest itself.
ask_host() {
    local answer
    echo "READY $1" >&2
    if [ -n "$NVMET_STEPS" ]; then
        "$NVMET_STEPS" "$1"
        return
    fi
    read -r answer <&3
    echo "$answer"
}
