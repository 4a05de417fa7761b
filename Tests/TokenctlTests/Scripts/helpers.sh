# What every line of a transcript can use.

# Runs a command until it succeeds, for ten seconds at most.
eventually() {
    local attempt
    for attempt in {1..200}; do
        "$@" >/dev/null 2>&1 && return
        sleep 0.05
    done
    echo "never: $*" >&2
    return 1
}

has_card() { tokenctl list-smartcards --json | grep -q '"token"'; }
has_no_card() { ! has_card; }

# pcscd looks into its readers now and then; these wait until it has noticed.
await_card() { eventually has_card; }
await_no_card() { eventually has_no_card; }

# peak COMMAND…: runs it, and prints how many KiB of memory it held at the most. Seen from outside until it ends, as a
# limit on memory would also count the terabytes that a sanitizer reserves and never touches.
peak() {
    local pid name value most seen
    "$@" &
    pid=$!
    while
        seen=
        while read -r name value _; do
            if [ "$name" = VmHWM: ]; then seen=$value; fi
        done 2>/dev/null <"/proc/$pid/status"
        [ -n "$seen" ]
    do
        most=$seen
    done
    wait "$pid" && echo "$most"
}

# answer ANSWER,… COMMAND…: a person at a terminal, who types the answers when asked.
answer() { "$ROOT/Scripts/answer" "$@"; }

# hostile: a name that moves a cursor, begins a line, reverses what follows and has a character that is not seen.
hostile() { printf 'x\e[2J\n9) y\u202e\u200b\u009b!'; }

# obeyed: how many lines of standard input have what a terminal obeys, or what is not seen.
obeyed() {
    LC_ALL=C grep -cP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf'
    return 0
}

# offered WORD…: what bash offers to complete the last word of a command line of tokenctl, once its completions are loaded.
offered() {
    COMP_WORDS=(tokenctl "$@") COMP_CWORD=$# COMP_LINE="tokenctl $*" COMPREPLY=()
    COMP_POINT=${#COMP_LINE}
    _tokenctl tokenctl "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    printf '%s\n' "${COMPREPLY[@]}" | sort
}

# What JSON there is on standard input, as one line and in order, and an error where it is none.
json() { jq --compact-output "${1:-.}"; }

# unprivileged COMMAND…: runs it without what lets root write anywhere.
unprivileged() {
    if [ "$(id -u)" -eq 0 ]; then setpriv --bounding-set=-all "$@"; else "$@"; fi
}

# as_user COMMAND…: runs it as a user who is not root, and has the same files; as_root COMMAND…: as root, who has.
as_user() {
    if [ "$(id -u)" -eq 0 ]; then unshare --user --map-user=1000 --map-group=1000 "$@"; else "$@"; fi
}
as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else unshare --user --map-root-user "$@"; fi
}

# secrets FILE LINE…: a file for --pin-source.
secrets() { (umask 077 && printf '%s\n' "${@:2}" >"$1"); }

# new_keychain [NAME [PASSWORD]]: what `tokenctl create-keychain` makes, for the password "correct" where there is no other, except that a
# guess at it costs nothing: every command that unlocks one would take half a second for that.
new_keychain() { echo "${2:-correct}" | KeychainWriter make "${1:-login}"; }

# dated NAME FROM TO: NAME.key, and NAME.pem that it signed for itself, valid from one moment to the other (20200101000000Z).
dated() {
    : >index; echo 01 >serial
    printf '%s\n' '[ca]' default_ca=x '[x]' database=index serial=serial new_certs_dir=. default_md=sha256 policy=p '[p]' \
        commonName=supplied >ca.cnf
    openssl req -new -newkey rsa:2048 -nodes -keyout "$1.key" -subj "/CN=$1" -out "$1.csr" 2>/dev/null
    openssl ca -batch -notext -config ca.cnf -selfsign -keyfile "$1.key" -in "$1.csr" -startdate "$2" -enddate "$3" \
        -out "$1.pem" 2>/dev/null
}

# with_softhsm COMMAND…: runs it where SoftHSM keeps its tokens in the folder.
with_softhsm() { SOFTHSM2_CONF=$PWD/softhsm2.conf "$@"; }

# softhsm_token LABEL: makes a token of SoftHSM, with a P-256 key 01 and its certificate; its PIN is 123456.
softhsm_token() {
    local module=/usr/lib/softhsm/libsofthsm2.so
    mkdir -p softhsm
    printf 'directories.tokendir = %s\nobjectstore.backend = file\nlog.level = ERROR\n' "$PWD/softhsm" >softhsm2.conf
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout soft.pem -out soft.crt \
        -subj "/CN=Of $1" -addext basicConstraints=CA:FALSE -days 3000
    openssl x509 -in soft.crt -outform DER -out soft.der
    openssl pkcs8 -topk8 -nocrypt -in soft.pem -out soft.p8
    with_softhsm softhsm2-util --init-token --free --label "$1" --pin 123456 --so-pin 12345678
    with_softhsm softhsm2-util --import soft.p8 --token "$1" --label one --id 01 --pin 123456
    with_softhsm pkcs11-tool --module $module --token-label "$1" --write-object soft.der --type cert --id 01 --label one
} >/dev/null 2>&1

# session_process: the number of the process that serves the session.
session_process() { tokenctl host --json | jq .process; }

# hosts KIND: how many hosts of that kind run with the folders of the test.
hosts() {
    local process count=0
    for process in /proc/[0-9]*; do
        grep -qzx -- "$1" "$process/cmdline" 2>/dev/null && grep -qzx "HOME=$HOME" "$process/environ" 2>/dev/null && ((++count))
    done
    echo "$count"
}

# dead PROCESS
dead() { [ ! -e "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status"; }

# uses PROCESS: whether the session's host serves a program; lines COUNT FILE: whether a file has as many lines.
uses() { tokenctl host --json | jq -e ".clients[] | select(.process == $1)"; }
lines() { [ "$(wc -l <"$2")" = "$1" ]; }
