#!/bin/sh
# Ashlar itself in the guest, on NVMe drives that QEMU emulates: it asks the kernel's real driver
# what they say of their health, while the pool has them open. One begins to warn of itself, which
# becomes an event, and ends. A SATA disk of QEMU's and a SCSI disk of the kernel's are asked, too.
#
#   run --file PATH-OF-ASHLAR --nvme 64M --nvme 64M --nvme 64M --sata 64M \
#       --on 'READY fail' COMMAND --on 'READY mend' COMMAND health
#
# COMMAND sets and clears bit 2 of the critical warnings of nvme-1.
#
# ASHLAR  the name of the program (ashlar)
. lib.sh
ASHLAR=${ASHLAR:-ashlar}
export ASHLAR_SOCKET=/run/ashlar.sock

drives_are_there() { [ "$(ls /dev/nvme?n1 2>/dev/null | wc -l)" = 3 ]; }
serves() { $ASHLAR status >/dev/null 2>&1; }
# The number that the kernel has given to the drive with that serial number.
number_of() { grep -l "^$1 *\$" /sys/class/nvme/nvme*/serial | sed 's@.*/nvme\([0-9]*\)/serial@\1@'; }

# figures DRIVE: what Ashlar knows of a drive, of which the serial number or the node is given.
figures() {
    case $1 in
    NVME-*) $ASHLAR drive show -e "/dev/nvme$(number_of "$1")n1" --output json ;;
    *) $ASHLAR drive show -e "$1" --output json ;;
    esac
}
# shows DRIVE LINE...: each is one line of it.
shows() {
    local said line
    said=$(figures "$1")
    shift
    for line in "$@"; do echo "$said" | grep -qE "^ *$line,?\$" || return 1; done
}
must_show() { shows "$@" || fail "not all of $* is in: $(figures "$1")"; }
has_answered() { shows "$1" '"absent": null' '"answer_age_seconds": [0-9]+'; }
happened() { $ASHLAR events | grep -qE " (info|warning|error) +$1\$"; }

step "a pool of three NVMe drives"
must modprobe nvme
within 30 drives_are_there || fail "there are: $(ls /dev/nvme*)"
mkdir -p /run/state
$ASHLAR serve --state /run/state --socket $ASHLAR_SOCKET --listen 10.0.2.15:4420 \
    --discovery none --drive-poll-seconds 1 >/tmp/ashlar.log 2>&1 &
DAEMON=$!
within 30 serves || fail "the daemon does not serve: $(cat /tmp/ashlar.log)"
shows NVME-2 '"content": "nothing"' '"temperature_celsius": 50' ||
    fail "a drive that no pool has says nothing: $(figures NVME-2)"
must $ASHLAR pool create tank --level 5 --drive /dev/nvme0n1 --drive /dev/nvme1n1 --drive /dev/nvme2n1

step "what they say, with a disk of the kernel's own before NVME-1"
number=$(number_of NVME-1)
[ -d "/sys/class/nvme-subsystem/nvme-subsys$number/nvme${number}n1" ] || fail "NVME-1 has none"
for serial in NVME-0 NVME-1 NVME-2; do
    within 30 has_answered "$serial" || fail "$serial has not answered: $(figures "$serial")"
    must_show "$serial" '"model": "QEMU NVMe Ctrl"' "\"serial\": \"$serial\"" \
        '"temperature_celsius": 50' '"temperature_max_celsius": 70' \
        '"temperature_critical_celsius": 100' '"power": "0"' '"power_max_milliwatts": 25000' \
        '"used_percent": 0' '"spare_percent": null' '"media_errors": 0' '"unsafe_shutdowns": 0' \
        '"write_cache": true' '"link_speed": "2.5 GT/s PCIe"' '"link_width": 1' '"warnings": \[\]'
done
celsius=$(nvme smart-log "/dev/nvme$number" | sed -nE 's/^temperature.*: *([0-9]+) *°?C.*/\1/p')
[ "$celsius" = 50 ] || fail "nvme-cli says '$celsius': $(nvme smart-log "/dev/nvme$number")"
must $ASHLAR drive show -e "/dev/nvme${number}n1"
must $ASHLAR pool show -e tank

step "a SATA disk and a SCSI disk, which no pool has"
must modprobe -a ahci sd_mod
within 30 test -b /dev/sda || fail "there is no SATA disk"
must modprobe scsi_debug dev_size_mb=64
within 30 test -b /dev/sdb || fail "there is no SCSI disk"
must_show /dev/sda '"model": "QEMU HARDDISK"' '"serial": "SATA-0"' '"temperature_celsius": 31' \
    '"power": "active"' '"write_cache": true' '"used_percent": null' '"absent": null'
must_show /dev/sdb '"model": "Linux scsi_debug"' '"temperature_celsius": 38' \
    '"temperature_max_celsius": 65' '"power": "active"' '"used_percent": null' '"absent": null'

step "one warns"
host_does fail
within 30 happened drive_failing || fail "there is no event: $($ASHLAR events)"
must_show NVME-1 '"kind": "failing"'
$ASHLAR drive list | grep -q "online, *failing" || fail "the list does not say so: $($ASHLAR drive list)"
$ASHLAR events | grep -A 2 drive_failing
host_does mend
within 30 happened drive_warning_ended || fail "it does not end: $($ASHLAR events)"
must_show NVME-1 '"warnings": \[\]'

step "one is as hot as its own threshold"
must nvme set-feature "/dev/nvme$number" -f 4 -V 320
within 30 happened drive_hot || fail "there is no event: $($ASHLAR events)"
must_show NVME-1 '"kind": "hot"'
must nvme set-feature "/dev/nvme$number" -f 4 -V 343
within 30 shows NVME-1 '"warnings": \[\]' || fail "it does not end: $(figures NVME-1)"

step "the pool has its drives for itself all the while"
must $ASHLAR pool scrub tank --wait
must kill -TERM "$DAEMON"
wait "$DAEMON" || fail "the daemon ended with status $?: $(cat /tmp/ashlar.log)"
step "passed"
