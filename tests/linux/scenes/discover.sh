#!/bin/sh
# Discovers the target, connects with several I/O queues, asks for every log, and
# connects again with both digests.
#
# PORT            the target
# DISCOVERY_PORT  its discovery service (default: PORT)
# NQN             the subsystem (default: the first that discovery names)
#
# Destroys what is on the first MiB of the first namespace.
. lib.sh

step "discover"
must nvme discover -t tcp -a "$HOST" -s "$DISCOVERY_PORT"

step "connect to everything that discovery names, where it says it is"
must nvme connect-all -t tcp -a "$HOST" -s "$DISCOVERY_PORT"
NQN=${NQN:-$(discovered | sed -n 1p)}
within 30 has_namespace || fail "no namespace of $NQN has appeared"
must nvme list-subsys
must nvme disconnect-all

step "connect with several I/O queues"
attach --nr-io-queues="$(nproc)" --nr-write-queues="$(nproc)"
queues=$(cat "/sys/class/nvme/$CTRL/queue_count")
echo "queues: 1 for administration, $((queues - 1)) for I/O"
[ "$queues" -gt 2 ] || fail "only one I/O queue"

step "what the target says of itself"
must nvme list
nvme list | grep "^$DEV " >/dev/null || fail "nvme list does not name $DEV"
must nvme list-subsys
must nvme id-ctrl "/dev/$CTRL"
must nvme list-ns "/dev/$CTRL"
must nvme id-ns "$DEV"
must nvme ns-descs "$DEV"
must nvme smart-log "/dev/$CTRL"
must nvme error-log "/dev/$CTRL"
must nvme effects-log "/dev/$CTRL"
must nvme show-regs "/dev/$CTRL"
must nvme flush "$DEV"

# The digests of a PDU cover every byte, so that a wrong one ends the connection.
step "connect with header and data digests"
detach
attach --hdr-digest --data-digest
dd if=/dev/urandom of=/tmp/written bs=64k count=16 2>/dev/null
must dd if=/tmp/written of="$DEV" bs=64k oflag=direct
must dd if="$DEV" of=/tmp/read bs=64k count=16 iflag=direct
must cmp /tmp/written /tmp/read

step "disconnect"
detach
step "passed"
