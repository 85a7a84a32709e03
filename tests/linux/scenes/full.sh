#!/bin/sh
# A file system on a pool that is filled to its true end, by writes of 4 KiB until not one is
# taken: it may be shut down by that. Once the pool's reserve is released it can be mounted, its
# files can be deleted, and all goes on; what was synced before is as it was.
#
# PORT  the target, and its discovery service
# NQN   the subsystem (default: the first that discovery names)
# FS    ext4 (default) or xfs
#
# The host acts on `READY release`: it releases the reserve of the pool.
#
# Destroys what is on the first namespace, which must have 1 GiB and a pool that takes less.
. lib.sh
FS=${FS:-ext4}

# Data that do not compress.
SOURCE_MIB=8
# Rounds in a row in which not one write is taken: collection may make room between two.
REFUSED_ROUNDS=5

# What the kernel could not write is put right: ext4 keeps orphans of a mount that has met errors. The
# log of xfs leaves nothing to repair.
repair_file_system() {
    local status=0
    [ "$FS" = ext4 ] || return 0
    e2fsck -f -p "$DEV" || status=$?
    [ "$status" -le 1 ] || fail "e2fsck -p cannot repair it: status $status"
}
write_files() {
    local file
    for file in 1 2 3 4 5 6 7 8; do
        dd if=/tmp/source of="/mnt/kept/$file" bs=64k skip="$file" count=$((file * 4)) 2>/dev/null || fail "cannot write"
    done
    must sync
    (cd /mnt/kept && sha256sum -- *) >/tmp/sums
}
check_files() { (cd /mnt/kept && must sha256sum -c /tmp/sums) || exit 1; }

# append BYTES FILE: the source once more at the file's end, in writes of so many bytes. Prints how
# many were taken; false if one was refused.
append() {
    local size status
    size=$(stat -c %s "$2" 2>/dev/null || echo 0)
    LC_ALL=C dd if=/tmp/source of="$2" bs="$1" seek="$((size / $1))" oflag=direct conv=notrunc 2>/tmp/dd
    status=$?
    sed -n 's/+.* records out$//p' /tmp/dd
    return $status
}
# Large files first, which is quicker. What ends the last write is said, whatever it is: the pool,
# or a file system that has been shut down.
fill() {
    local refused=0 taken round=0
    while append 1048576 "/mnt/large" >/dev/null; do :; done
    cat /tmp/dd
    grep -q 'No space left on device' /tmp/dd || fail "the write was refused for another reason"
    while [ "$refused" -lt "$REFUSED_ROUNDS" ]; do
        round=$((round + 1))
        taken=$(append 4096 "/mnt/small")
        if [ "${taken:-0}" -gt 0 ]; then refused=0; else refused=$((refused + 1)); fi
    done
    echo "rounds of 4 KiB writes: $round; the last one:"
    cat /tmp/dd
}
# All that the file system has not written yet has to find room, or does not.
use_up() {
    local file
    for file in $(seq 100); do
        echo "$file" >"/mnt/more-$file" || break
    done 2>/dev/null
    sync -f /mnt || echo "sync is refused"
    if touch /mnt/kept/probe 2>/dev/null && sync -f /mnt; then
        echo "the file system is in use still"
    else
        echo "the file system is shut down, or read-only"
    fi
}

step "mkfs.$FS, files that are kept"
attach
must dd if=/dev/urandom of=/tmp/source bs=1M count="$SOURCE_MIB"
make_file_system
must mount -t "$FS" "$DEV" /mnt
mkdir /mnt/kept
write_files

step "fill it, to the last 4 KiB"
fill
use_up
must umount /mnt

step "release the reserve, mount"
host_does release
must mount -t "$FS" "$DEV" /mnt
check_files

step "delete files, fstrim"
must rm -f /mnt/large /mnt/small
must sync
must fstrim -v /mnt
must umount /mnt
repair_file_system

step "write again"
must mount -t "$FS" "$DEV" /mnt
must dd if=/tmp/source of=/mnt/again bs=64k
must sync
must cmp /tmp/source /mnt/again
check_files
must umount /mnt
detach
attach
check_file_system
must mount -t "$FS" -o ro "$DEV" /mnt
check_files
must cmp /tmp/source /mnt/again
must umount /mnt
detach
step "passed"
