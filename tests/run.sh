#!/bin/sh
# Runs every test on a Debian machine that has Rust; installs what else they need.
set -eu

# The Debian packages that the tests use: `dig`, a dnstap collector (fstrm-bin) and reader, other name servers, resolvers,
# `ip`, Python for the programs that ask from outside, valgrind to count instructions, the fuzzer's C++ compiler, and the
# linker and C headers that Rust itself needs.
PACKAGES="bind9-dnsutils dnstap-ldns fstrm-bin g++ gcc iproute2 knot knot-resolver libc6-dev nsd python3 python3-venv unbound valgrind"

# Keeps services from starting when their package is installed: the tests start their own, on ports of their own.
POLICY=/usr/sbin/policy-rc.d

usage() {
    cat <<HELP
Usage: tests/run.sh [ARGUMENT...]

Installs the Debian packages that the tests need and that are missing (as root, or through sudo), then runs
\`cargo test --features portable\` with the arguments given, for instance a part of a test's name.

Packages: $PACKAGES
Python:   tests/requirements.txt, from PyPI into target/python, once

It builds first, some minutes the first time; all tests then take some minutes more.

    tests/run.sh                          everything
    tests/run.sh --test rfc s3_3_1        one file of tests, and in it what has this in its name
    tests/run.sh --lib region             one module's own tests

Servers that the tests need are started by the tests themselves, on loopback, and end with them. Afterwards the
temporary files are gone; installed packages stay.

Exit status: that of \`cargo test\`; 1 when something is missing and can't be installed.
HELP
}

main() {
    case "${1-}" in
        -h | --help)
            usage
            exit 0
            ;;
    esac
    cd "$(dirname "$0")/.."
    find_cargo
    install_missing
    provide_python

    # Everything the tests write lies in one folder, so that one line cleans up.
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/waypost-tests.XXXXXX")
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    # A snapshot that differs is a failure, never a new file.
    TMPDIR=$scratch INSTA_UPDATE=no WAYPOST_TEST_PYTHON=$python cargo test --locked --features portable "$@"
}

find_cargo() {
    command -v cargo >/dev/null 2>&1 || PATH=$PATH:${CARGO_HOME:-${HOME:-}/.cargo}/bin
    command -v cargo >/dev/null 2>&1 || fail "cargo is not here; install Rust first: https://www.rust-lang.org/tools/install"
}

install_missing() {
    missing=$(missing_packages)
    [ -n "$missing" ] || return 0
    command -v apt-get >/dev/null 2>&1 || fail "no apt-get here; install what corresponds to these Debian packages: $missing"
    if [ "$(id -u)" -eq 0 ]; then
        as_root="env"
    elif sudo -n true >/dev/null 2>&1; then
        as_root="sudo -n env"
    elif [ -t 0 ] && command -v sudo >/dev/null 2>&1; then
        as_root="sudo env"
    else
        fail "packages are missing and this user may not install them; run as root:
    apt-get update && apt-get install -y --no-install-recommends $missing"
    fi
    echo "tests/run.sh: installing $missing"
    forbid_services
    # A mirror that is down does no harm while the lists at hand suffice; the installation decides.
    $as_root DEBIAN_FRONTEND=noninteractive apt-get update -q || echo "tests/run.sh: apt-get update failed, going on" >&2
    # shellcheck disable=SC2086 # A list of names.
    $as_root DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
    allow_services
}

missing_packages() {
    list=
    for package in $PACKAGES; do
        status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$status" = installed ] || list="$list $package"
    done
    echo "${list# }"
}

# Sets `python` to an interpreter with what tests/requirements.txt asks for. Debian 12's own dnspython is too old, so it
# comes from PyPI, once, into a folder of the build's; a later run needs no network.
provide_python() {
    environment=${CARGO_TARGET_DIR:-$PWD/target}/python
    python=$environment/bin/python
    # The list as it was when installed: a changed pin is installed anew.
    ! cmp -s tests/requirements.txt "$environment/installed" || return 0
    echo "tests/run.sh: installing tests/requirements.txt into $environment"
    python3 -m venv --clear "$environment" || fail "python3 can't make an environment in $environment"
    "$python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes \
        -r tests/requirements.txt || fail "what tests/requirements.txt names could not be installed.
    Without a way to PyPI: fetch it where there is one and unpack it here,
        pip download --no-deps --require-hashes -r tests/requirements.txt -d wheels
        $python -m pip install --no-index --find-links wheels -r tests/requirements.txt
        cp tests/requirements.txt $environment/installed
    and run this again; or let PIP_INDEX_URL name a mirror."
    cp tests/requirements.txt "$environment/installed"
}

# Only where nobody has a policy already, and only while installing.
forbid_services() {
    [ ! -e "$POLICY" ] || return 0
    # The traps come first: an interrupted run leaves nothing behind.
    trap allow_services EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    policy_is_ours=yes
    $as_root sh -c "printf '#!/bin/sh\nexit 101\n' >$POLICY && chmod 755 $POLICY"
}

allow_services() {
    [ "${policy_is_ours-}" = yes ] || return 0
    $as_root rm -f "$POLICY"
    policy_is_ours=
    trap - EXIT INT TERM
}

clean_up() {
    rm -rf "$scratch"
}

fail() {
    echo "tests/run.sh: $1" >&2
    exit 1
}

main "$@"
