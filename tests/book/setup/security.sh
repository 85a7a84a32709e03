# The API is served to other machines.
# shellcheck shell=bash
. "$BOOK/setup/default.sh"

know_the_fingerprint() {
    FINGERPRINT=$(ashlar session | sed -n 's/^ *\(\([0-9A-F]\{2\}:\)\{31\}[0-9A-F]*\)$/\1/p')
    export FINGERPRINT
}

# As whoever has a sign-on of their own has one.
make_a_key() { printf '%s\n' '-----BEGIN PUBLIC KEY-----' \
    'MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=' '-----END PUBLIC KEY-----' >sso.pem; }
