#!/bin/sh
# A file system on the first namespace: files, verified load, trim, and everything
# as it was after disconnecting.
#
# PORT     the target, and its discovery service
# NQN      the subsystem (default: the first that discovery names)
# FS       ext4 (default) or xfs
# FIO_MIB  size of the file that fio works on (64)
#
# The host may act on `READY written` (before files are deleted) and on `READY
# trimmed`, to compare what the pool says is in use.
#
# Destroys what is on the namespace.
. lib.sh
FS=${FS:-ext4} FIO_MIB=${FIO_MIB:-64}

write_files() {
    local file
    for file in 1 2 3 4 5 6 7 8; do
        dd if=/dev/urandom of="/mnt/kept/$file" bs=64k count=$((file * 4)) 2>/dev/null || fail "cannot write"
    done
    sync
    (cd /mnt/kept && sha256sum -- *) >/tmp/sums
}
# An archive of files that do not compress, but for their ends and the archive's headers: large writes of which
# nearly all blocks stay raw. cp writes it, as an operator would.
copy_archive() {
    local file
    mkdir /tmp/packed
    for file in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
        dd if=/dev/urandom of="/tmp/packed/$file" bs=1000 count=$((file * 97)) 2>/dev/null || fail "cannot write"
    done
    must tar -c -f /tmp/archive.tar -C /tmp packed
    must cp /tmp/archive.tar /mnt/kept/archive
    must cp -r /tmp/packed /mnt/copied
    sync
    rm -r /tmp/packed /tmp/archive.tar
    (cd /mnt/copied && sha256sum -- *) >/tmp/copied-sums
}
check_files() {
    (cd /mnt/kept && must sha256sum -c /tmp/sums) || return 1
    (cd /mnt/copied && must sha256sum -c /tmp/copied-sums)
}

step "mkfs.$FS, mount -o discard"
attach
make_file_system
must mount -t "$FS" -o discard "$DEV" /mnt

step "write files, copy an archive"
mkdir /mnt/kept
copy_archive
write_files

step "fio: random reads and writes, each block verified"
must fio_verified --filename=/mnt/fio --size="${FIO_MIB}m" --bs=4k
host_may written || true

step "delete, fstrim"
must rm /mnt/fio
must fstrim -v /mnt
host_may trimmed || true

step "umount, disconnect, connect again"
must umount /mnt
detach
attach

step "check the file system and the files"
check_file_system
must mount -t "$FS" -o ro "$DEV" /mnt
check_files || exit 1
must umount /mnt
detach
step "passed"
