#!/bin/sh
# What nvme-cli shows of a volume and of its pool, the plugin for ScaleFlux's drives included; what it
# erases: Format and Sanitize.
#
# PORT            the target
# DISCOVERY_PORT  its discovery service (default: PORT)
# OWNER           the host that alone may see the volume
#
# Destroys what is on the first namespace.
. lib.sh

# field NAME COMMAND...: a figure that nvme-cli prints as `name : 0x2a` or `name: 42`.
field() {
    local name=$1
    shift
    printf '%d\n' "$("$@" | awk -F: -v name="$name" 'index($1, name) { gsub(/[ \t,]/, "", $2); print $2; exit }' | sed 's/[^0-9a-fx].*//')"
}
used_bytes() { echo $(($(field nuse nvme id-ns "$DEV") * $(blockdev --getss "$DEV"))); }
uses() { [ "$(used_bytes)" -ge "$1" ] && [ "$(used_bytes)" -le "$2" ]; }
write_secret() { must dd if=/tmp/secret of="$DEV" bs=1M oflag=direct; }
reads_as_zeros() { dd if="$DEV" bs=1M count=16 iflag=direct 2>/dev/null | cmp -n $((16 << 20)) - /dev/zero; }
has_sanitized() { [ $(($(field '(SSTAT)' nvme sanitize-log "/dev/$CTRL") & 7)) -eq 1 ]; }

dd if=/dev/urandom of=/tmp/secret bs=1M count=16 2>/dev/null
NQN=$(discovered --hostnqn="$OWNER" | sed -n 1p)
attach --hostnqn="$OWNER"

step "usage is what the volume holds"
write_secret
within 60 uses $((16 << 20)) $((17 << 20)) || fail "it uses $(used_bytes) bytes"
must nvme list

step "what the pool of the volume is like"
must nvme smart-log "/dev/$CTRL"
[ "$(field 'Data Units Written' nvme smart-log "/dev/$CTRL")" -ge 32 ] || fail "16 MiB are 33 data units"
must nvme endurance-log "/dev/$CTRL" --group-id=1

step "what scripts for ScaleFlux's drives ask"
must nvme sfx smart-log-add "$DEV"
must nvme sfx lat-stats "$DEV"
must nvme sfx lat-stats "$DEV" -w
must nvme sfx get-feature "$DEV" -f 1
must nvme sfx set-feature "$DEV" -f 1 -v 1
must_not nvme sfx set-feature "$DEV" -f 1 -v 0 --force
must nvme get-log "/dev/$CTRL" --log-id=0xc2 --log-len=152

step "other vendors' commands are refused, and their data is taken off the wire"
for opcode in 0xc1 0xd3 0xfd; do
    must_not nvme admin-passthru "/dev/$CTRL" --opcode=$opcode --write --data-len=4096 --input-file=/tmp/secret
done
must cmp -n $((1 << 20)) /tmp/secret "$DEV"

step "what hosts are told of atomic writes"
must nvme id-ns "$DEV" -H
[ "$(field nawupf nvme id-ns "$DEV")" -gt 0 ] || fail "none are atomic"

step "Format erases, and changes the sectors"
for format in 0 1; do
    write_secret
    must nvme format "$DEV" --lbaf=$format --ses=1 --force
    expected=$((512 << (3 * format)))
    [ "$(blockdev --getss "$DEV")" -eq $expected ] || fail "its sectors are not $expected bytes"
    reads_as_zeros || fail "it is not erased"
    within 60 uses 0 0 || fail "it still uses $(used_bytes) bytes"
done

step "Sanitize erases"
write_secret
must_not nvme sanitize "/dev/$CTRL" --sanact=start-crypto-erase
must nvme sanitize "/dev/$CTRL" --sanact=start-block-erase
within 120 has_sanitized || fail "$(nvme sanitize-log "/dev/$CTRL")"
must nvme sanitize-log "/dev/$CTRL"
reads_as_zeros || fail "it is not erased"
write_secret
must cmp -n $((16 << 20)) /tmp/secret "$DEV"

step "disconnect"
detach
step "passed"
