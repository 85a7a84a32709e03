#!/bin/sh
# A host that no volume allows sees nothing, while one that is allowed does.
#
# PORT            the target, and its discovery service
# NQN             the subsystem (default: the first that discovery names)
# HOSTNQN         the host that is allowed
# DENIED_HOSTNQN  the one that is not
. lib.sh
DENIED_HOSTID=a4c9ce04-4bd4-4a3a-9d0c-6b3c4a0f9a11
DENIED_HOSTNQN=${DENIED_HOSTNQN:-nqn.2014-08.org.nvmexpress:uuid:$DENIED_HOSTID}

as_denied() { "$@" --hostnqn="$DENIED_HOSTNQN" --hostid="$DENIED_HOSTID"; }
connect_denied() { as_denied nvme connect -t tcp -a "$HOST" -s "$PORT" -n "$NQN"; }
denied_controller() {
    for path in /sys/class/nvme/nvme*; do
        [ "$(cat "$path/hostnqn" 2>/dev/null)" != "$DENIED_HOSTNQN" ] || basename "$path"
    done
}
# The paths to namespaces that a controller has: nvme1c1n1 ...
paths_of() { (cd "/sys/class/nvme/$1" && echo nvme*n*) | grep -v '\*'; }

# A feature that only namespaces have.
write_protection_of() { nvme get-feature "$1" --namespace-id="$2" --feature-id=0x84; }

# What the kernel does not show, a command to the controller must not reach either.
probe_denied() {
    local nsid listed ctrl=/dev/$1
    # Without namespaces there is a heading at most.
    listed=$(nvme list-ns "$ctrl" | grep 0x)
    [ -z "$listed" ] || fail "the denied host is given a list of namespaces: $listed"
    for nsid in $NSIDS; do
        # A namespace that this host does not have is described by zeros, if at all.
        ! nvme id-ns "$ctrl" --namespace-id="$nsid" 2>/dev/null | grep -E '^nsze *: 0x[0-9a-f]*[1-9a-f]' >/dev/null ||
            fail "the denied host is told how large namespace $nsid is"
        must_not write_protection_of "$ctrl" "$nsid"
    done
}

step "the allowed host: $HOSTNQN"
attach
NSIDS=$(nvme list-ns "/dev/$CTRL" | sed -nE 's/.*:(0x[0-9a-f]+)$/\1/p' | tr '\n' ' ')
echo "its namespaces: $NSIDS"
for nsid in $NSIDS; do must write_protection_of "/dev/$CTRL" "$nsid"; done

step "the denied host: $DENIED_HOSTNQN"
if as_denied discovered | grep . >/dev/null; then
    # A subsystem that discovery names must be one that this host may enter.
    must connect_denied
elif ! connect_denied; then
    echo "the subsystem refuses the host, and discovery does not name it"
fi
ctrl=$(denied_controller)
if [ -n "$ctrl" ]; then
    [ -z "$(paths_of "$ctrl")" ] || fail "the denied host sees $(paths_of "$ctrl")"
    probe_denied "$ctrl"
fi

step "the allowed host has lost nothing"
has_namespace || fail "no namespace"
must dd if="$DEV" of=/dev/null bs=64k count=16 iflag=direct
must nvme disconnect-all
step "passed"
