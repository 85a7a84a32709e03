# What the setups of pages have in common: see run.
# shellcheck shell=bash

# Waits until a command succeeds; it says what it waited for if that is in vain.
until_true() {
    local attempt
    # shellcheck disable=SC2034 # it only counts
    for attempt in $(seq 300); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.1
    done
    echo "in vain: $*"
    return 1
}

# The daemon as the package starts it, with these options more.
start_daemon() {
    [ -e /etc/ashlar/ashlar.toml ] || ashlar config example >/etc/ashlar/ashlar.toml
    ashlar serve --config /etc/ashlar/ashlar.toml --state /var/lib/ashlar \
        --socket /run/ashlar/ashlar.sock --socket-group ashlar "$@" 2>>/run/log &
    until_true ashlar status || { cat /run/log; return 1; }
}

# It ends in order, and another one may be started.
stop_daemon() {
    kill "$(ashlar status --output json | sed -n 's/^ *"pid": \([0-9]*\),$/\1/p')"
    wait
}

# A pool of the first drives: make_pool LEVEL DRIVES
make_pool() {
    local drives=() number
    for number in $(seq "$2"); do drives+=(--drive "/dev/nvme${number}n1"); done
    ashlar pool create tank --level "$1" "${drives[@]}"
}
