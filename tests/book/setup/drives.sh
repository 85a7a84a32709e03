# What the page says of drives happens to these.
# shellcheck shell=bash
. "$BOOK/setup/default.sh"

# A partition tool has been at both ends of a drive of a closed pool.
overwrite_labels() {
    ashlar pool export tank --yes
    local size
    size=$(stat -c %s /dev/nvme3n1)
    dd if=/dev/urandom of=/dev/nvme3n1 bs=4K count=8 conv=notrunc status=none
    dd if=/dev/urandom of=/dev/nvme3n1 bs=4K count=16 conv=notrunc oflag=seek_bytes \
        seek=$((size - 65536)) status=none
}

# A drive of a pool that nobody has any more: its label is a copy.
leave_a_label() {
    ashlar pool create other --level 0 --drive /dev/nvme9n1
    ashlar pool export other --yes
}

enlarge_drives() {
    local number
    for number in 3 5 6 7 8 9; do truncate -s 4000000000000 "/dev/nvme${number}n1"; done
}

# It did not open at a start.
close_the_pool() { ashlar pool export tank --yes; }
