#!/bin/sh
# A file system on a pool that holds less than it: filled until the pool refuses, emptied, filled
# again, time after time. The file system stays in use all the while, its files are what they were,
# and both ways of giving space back bring it back: fstrim, and rm where it is mounted with discard.
#
# PORT    the target, and its discovery service
# NQN     the subsystem (default: the first that discovery names)
# FS      ext4 (default) or xfs
# CYCLES  how often (20)
#
# Destroys what is on the first namespace, which must have 1 GiB and a pool that takes less.
. lib.sh
FS=${FS:-ext4} CYCLES=${CYCLES:-20}

# Data that do not compress.
SOURCE_MIB=8

# The source again and again, a file each, until a write is refused; sets FILLED_MIB.
fill() {
    FILLED_MIB=0
    while LC_ALL=C dd if=/tmp/source of="/mnt/large-$FILLED_MIB" bs=1M oflag=direct 2>/tmp/dd; do
        FILLED_MIB=$((FILLED_MIB + SOURCE_MIB))
    done
    grep -q 'No space left on device' /tmp/dd || fail "the write was refused for another reason: $(cat /tmp/dd)"
    FILLED_MIB=$((FILLED_MIB + $(sed -n 's/+.* records out$//p' /tmp/dd)))
}
write_files() {
    mkdir /mnt/kept
    for file in 1 2 3 4; do
        must dd if=/tmp/source of="/mnt/kept/$file" bs=64k skip="$file" count=$((file * 4))
    done
    must sync
    (cd /mnt/kept && sha256sum -- *) >/tmp/sums
}
check_files() { (cd /mnt/kept && must sha256sum -c -s /tmp/sums) || exit 1; }
is_writable() { touch "/mnt/kept/probe-$1" && sync -f /mnt && rm "/mnt/kept/probe-$1"; }

# Space comes back as the pool reclaims it, and the first writes after a trim wait for that.
refill() {
    fill
    [ "$FILLED_MIB" -ge $((FIRST_FILL_MIB * 9 / 10)) ] ||
        fail "$1 has not brought the space back: $FILLED_MIB MiB of $FIRST_FILL_MIB"
}

step "mkfs.$FS, files that are kept"
attach
must dd if=/dev/urandom of=/tmp/source bs=1M count="$SOURCE_MIB"
make_file_system
must mount -t "$FS" "$DEV" /mnt
write_files
fill
FIRST_FILL_MIB=$FILLED_MIB
echo "MiB written before the refusal: $FIRST_FILL_MIB"

for cycle in $(seq "$CYCLES"); do
    check_files
    must rm -f /mnt/large-*
    must sync
    if [ $((cycle % 2)) = 1 ]; then
        how=fstrim next=discard
        must fstrim /mnt
    else
        how="rm with discard" next=nodiscard
    fi
    within 30 is_writable "$cycle" || fail "the file system takes no more writes"
    # Both are used by turns.
    must umount /mnt
    must mount -t "$FS" -o "$next" "$DEV" /mnt
    refill "$how"
    echo "cycle $cycle, by $how: $FILLED_MIB MiB"
done

check_files
must rm -f /mnt/large-*
must sync
must fstrim /mnt
must umount /mnt
check_file_system
must mount -t "$FS" -o ro "$DEV" /mnt
check_files
must umount /mnt
detach
step "passed"
