# A clone that was built, in which `make run` serves.
# shellcheck shell=bash
mkdir -p target/release ashlar-data
ln -s /run/bin/ashlar target/release/ashlar
start_daemon
ln -s /run/ashlar/ashlar.sock ashlar-data/ashlar.sock

# What was shown in the foreground.
serve() {
    ashlar serve --state /var/lib/ashlar --listen 0.0.0.0:4420 --discovery 0.0.0.0:8009 2>>/run/log &
    until_true ashlar --socket /var/lib/ashlar/ashlar.sock status
}
