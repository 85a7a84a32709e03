# A server on which the package was installed.
# shellcheck shell=bash
printf '%s\n' 'listen = ["192.0.2.10:4420"]' 'discovery = "192.0.2.10:8009"' >/etc/ashlar/ashlar.toml
start_daemon
