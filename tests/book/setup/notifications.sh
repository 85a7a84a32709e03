# A webhook and a mail server that take what they are sent.
# shellcheck shell=bash
python3 "$BOOK/receivers.py" &
printf '%s' 'a secret of the test of the book' >/etc/ashlar/ops.secret
cat >/etc/ashlar/ashlar.toml <<'EOF'
[[webhook]]
name = "ops"
url = "http://127.0.0.1:8025/ashlar"
secret_file = "/etc/ashlar/ops.secret"
severity = "warning"

[mail]
server = "127.0.0.1"
port = 2525
tls = "none"
from = "Ashlar <ashlar@example.org>"
to = ["storage@example.org"]
severity = "error"
EOF
. "$BOOK/setup/default.sh"
