# No daemon: the demonstration is one.
# shellcheck shell=bash
