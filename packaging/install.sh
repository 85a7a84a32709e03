#!/bin/sh
# Installs Ashlar from the archive that this file is in, or removes it again.
#
# usage: install.sh [--prefix DIR] [--uninstall]
#
#   --prefix DIR  where the program goes (/usr/local); its configuration is /etc/ashlar in any case
#   --uninstall   stops and removes what was installed there; the configuration, what the daemon
#                 knows of its pools and the pools stay
#
# DESTDIR in the environment is put before all paths, and then no service is started.
#
# It ends with 0 once all is done, with 2 if it was called wrongly, and with 3 if all is installed
# and the daemon was not (re)started, because its configuration is none.
set -eu
umask 022

prefix=/usr/local uninstall=no
while [ $# -gt 0 ]; do
    case $1 in
    --prefix) [ $# -ge 2 ] || { echo "--prefix needs a DIR" >&2; exit 2; }; prefix=$2; shift ;;
    --uninstall) uninstall=yes ;;
    *) sed -n '/^# usage/,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
    esac
    shift
done
# The unit needs the whole path.
case $prefix in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
root=$(cd "$(dirname "$0")/root" && pwd)
to=${DESTDIR:-}$prefix
configuration=${DESTDIR:-}/etc/ashlar/ashlar.toml
# Where systemd looks, whatever the prefix is.
unit=${DESTDIR:-}/etc/systemd/system/ashlar.service

runs_systemd() { [ -z "${DESTDIR:-}" ] && [ -d /run/systemd/system ]; }
files() { (cd "$root/usr" && find . -type f ! -path './lib/systemd/*' | sort); }

if [ $uninstall = yes ]; then
    if runs_systemd; then systemctl disable --now ashlar.service || true; fi
    files | while read -r file; do rm -f "$to/$file"; done
    rm -f "$unit"
    # The deepest first, and none that holds anything else.
    (cd "$root/usr/share/doc" && find ashlar -depth -type d) | while read -r directory; do
        rmdir "$to/share/doc/$directory" 2>/dev/null || true
    done
    if runs_systemd; then systemctl daemon-reload; fi
    echo "Ashlar is removed. $configuration and /var/lib/ashlar are left."
    exit 0
fi

files | while read -r file; do
    mode=644
    [ "$file" != ./bin/ashlar ] || mode=755
    install -D -m $mode "$root/usr/$file" "$to/$file"
done
[ -e "$configuration" ] || install -D -m 644 "$root/etc/ashlar/ashlar.toml" "$configuration"
mkdir -p "$(dirname "$unit")"
sed "s@/usr/bin/ashlar@$prefix/bin/ashlar@; s@/usr/share/doc@$prefix/share/doc@" \
    "$root/usr/lib/systemd/system/ashlar.service" >"$unit"
chmod 644 "$unit"
if runs_systemd; then
    # Members of it may use the daemon's socket.
    getent group ashlar >/dev/null || groupadd --system ashlar
    systemctl daemon-reload
    systemctl enable ashlar.service
    # A daemon that serves is not ended for one that would not begin.
    if "$prefix/bin/ashlar" config check "$configuration" >/dev/null; then
        systemctl restart ashlar.service
        echo "Ashlar runs: $prefix/bin/ashlar status"
    else
        echo "Ashlar is installed, but its daemon was not started anew and is left as it is (status 3):" >&2
        echo "mend $configuration, then systemctl restart ashlar" >&2
        exit 3
    fi
else
    echo "Ashlar is installed in $to. No service was started."
fi
