#!/bin/sh
# The Linux kernel's own NVMe/TCP target, inside the guest: runs another scene
# against it, which tests the rig and the scene without Ashlar.
#
#   run nvmet SCENE.sh
#
# MIB  size of the namespace, which is a sparse file in memory (384)
. lib.sh

export HOST=10.0.2.15 PORT=4420 NQN=nqn.2014-08.org.nvmexpress:rig
export NVMET_STEPS=nvmet-steps NVMET=/sys/kernel/config/nvmet
subsystem=$NVMET/subsystems/$NQN
port=$NVMET/ports/1

[ $# -eq 1 ] || fail "which scene?"
must modprobe nvmet_tcp
must mount -t configfs configfs /sys/kernel/config

mkdir "$subsystem" "$NVMET/hosts/$HOSTNQN" "$port"
echo 0 >"$subsystem/attr_allow_any_host"
ln -s "$NVMET/hosts/$HOSTNQN" "$subsystem/allowed_hosts/"
MIB=${MIB:-384} nvmet-steps add-first || fail "no namespace"

echo tcp >"$port/addr_trtype"
echo ipv4 >"$port/addr_adrfam"
echo "$HOST" >"$port/addr_traddr"
echo "$PORT" >"$port/addr_trsvcid"
ln -s "$subsystem" "$port/subsystems/" || fail "the kernel's target does not listen"

exec "$@"
