# A pool of five drives with three volumes; two more drives are free.
# shellcheck shell=bash
start_daemon --api-listen 0.0.0.0:8443
make_pool 5 5
ashlar volume create tank/v0 --size 1TiB --allow nqn.2014-08.org.example:h1
ashlar volume create tank/v1 --size 1TiB
ashlar volume create tank/v2 --size 1TiB
