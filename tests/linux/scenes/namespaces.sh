#!/bin/sh
# Namespaces that come, grow and go while the host is connected.
#
# PORT       the target, and its discovery service
# NQN        the subsystem (default: the first that discovery names)
# SECONDS_MAX  how soon the host must see each change (5)
#
# The host adds a namespace on `READY add`, makes the same one larger on `READY
# resize`, and takes it away on `READY remove`.
. lib.sh
SECONDS_MAX=${SECONDS_MAX:-5}

added() {
    NEW=
    for namespace in $(namespaces); do
        case " $BEFORE " in *" $namespace "*) ;; *) NEW=$namespace ;; esac
    done
    [ -n "$NEW" ]
}
sectors() { cat "/sys/block/${NEW#/dev/}/size" 2>/dev/null || echo 0; }
grown() { [ "$(sectors)" -gt "$SECTORS" ]; }
removed() { [ ! -e "/sys/block/${NEW#/dev/}" ]; }

# sees STEP CHECK: the host's part, and how long this side takes to notice.
sees() {
    step "$1"
    host_does "$1"
    started=$(hundredths)
    within "$SECONDS_MAX" "$2" || fail "'$1' was not seen within $SECONDS_MAX s"
    echo "seen $(($(hundredths) - started))0 ms after the host had done it"
}

attach
BEFORE=$(namespaces | tr '\n' ' ')

sees add added
echo "$NEW: $(sectors) sectors of 512 bytes"
must dd if=/dev/urandom of="$NEW" bs=64k count=16 oflag=direct

SECTORS=$(sectors)
sees resize grown
echo "$NEW: $(sectors) sectors of 512 bytes"

sees remove removed
[ "$BEFORE" = "$(namespaces | tr '\n' ' ')" ] || fail "the other namespaces changed: $(namespaces)"
must nvme list
detach
step "passed"
