#!/bin/sh
# Feeds a target with inputs that reach new code, on the stable compiler.
set -eu

TARGETS="packet subnet cookie zone mmdb admin config"

# An input that takes longer, in seconds, or a target that takes more memory, in MiB, has failed.
TIMEOUT=5
MEMORY=1024

# Most files of a corpus.
MAX_FILES=200

usage() {
    cat <<HELP
Usage: fuzz/run.sh TARGET SECONDS [OPTION...]      for so long
       fuzz/run.sh TARGET RUNS runs [OPTION...]    so many inputs
       fuzz/run.sh TARGET minimise                 keeps of the corpus what each reaches something of its own
       fuzz/run.sh ci SECONDS                      every target for so long, two at a time, changing no corpus
       fuzz/run.sh build                           builds all targets

It builds first, some minutes the first time. For example:

    fuzz/run.sh packet 60                 packets for a minute
    fuzz/run.sh zone 100000 runs          100,000 zone files
    fuzz/run.sh packet 60 -max_len=600    with an option of libFuzzer's

Targets: $TARGETS
Needs a C++ compiler (Debian: g++). Starts from fuzz/corpus/TARGET and adds what it finds to fuzz/work/TARGET; an input
that fails is written to fuzz/artifacts and named. OPTION is one of libFuzzer's, such as -jobs=2.
With a nightly compiler and cargo-fuzz, \`cargo fuzz run TARGET\` works as well.

Exit status: 0 when nothing failed.
HELP
}

main() {
    case "${1-}" in
        "" | -h | --help)
            usage
            exit 0
            ;;
    esac
    cd "$(dirname "$0")"
    host=$(rustc -vV | sed -n 's/^host: //p')
    programs=${CARGO_TARGET_DIR:-target}/$host/release
    build
    case "$1" in
        build) ;;
        ci) every_target "${2-30}" ;;
        *) one_target "$@" ;;
    esac
}

# What nightly's -Zsanitizer or cargo-fuzz would pass; naming the host as target keeps it from build scripts and macros.
build() {
    RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
        -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 --cfg fuzzing" \
        cargo build --quiet --locked --release --target "$host"
}

one_target() {
    target=$1
    amount=${2-}
    [ -n "$amount" ] || fail "say for how many seconds, as in: fuzz/run.sh $target 30"
    [ -x "$programs/$target" ] || fail "no target $target; there are: $TARGETS"
    shift 2
    mkdir -p "work/$target" "corpus/$target" artifacts
    if [ "$amount" = minimise ]; then
        minimise
        return
    fi
    limit=-max_total_time=$amount
    if [ "${1-}" = runs ]; then
        limit=-runs=$amount
        shift
    fi
    # shellcheck disable=SC2046 # Words.
    "$programs/$target" "$limit" $(bounds) "$@" "work/$target" "corpus/$target"
}

bounds() {
    echo "-timeout=$TIMEOUT" "-rss_limit_mb=$MEMORY" "-artifact_prefix=artifacts/$target-" -print_final_stats=1
}

# By the code they reach, however often: few files. libFuzzer names them by the digest of what they hold.
minimise() {
    rm -rf "work/$target.small"
    mkdir "work/$target.small"
    "$programs/$target" -set_cover_merge=1 -use_counters=0 -max_len=4096 "work/$target.small" "corpus/$target" \
        "work/$target"
    # Of more than tests/sweeps allows the largest are kept: whole files that reach much by themselves.
    ls -S "work/$target.small" | tail -n "+$((MAX_FILES + 1))" | while read -r file; do
        rm "work/$target.small/$file"
    done
    rm -rf "corpus/$target"
    mv "work/$target.small" "corpus/$target"
}

every_target() {
    seconds=$1
    logs=$(mktemp -d)
    trap 'rm -rf "$logs"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    failed=
    # shellcheck disable=SC2086 # A list of names.
    set -- $TARGETS
    while [ $# -gt 0 ]; do
        pair="$1 ${2-}"
        shift
        [ $# -eq 0 ] || shift
        for target in $pair; do
            { short_run || echo "failed with status $?" >"$logs/$target.failed"; } >"$logs/$target" 2>&1 &
        done
        wait
        for target in $pair; do
            echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$logs/$target") inputs"
            if [ -e "$logs/$target.failed" ]; then
                failed="$failed $target"
                tail -n 40 "$logs/$target"
            fi
        done
    done
    [ -z "$failed" ] || fail "failed:$failed; their inputs are in fuzz/artifacts"
}

short_run() {
    mkdir -p artifacts "$logs/new-$target"
    # shellcheck disable=SC2046 # Words.
    "$programs/$target" "-max_total_time=$seconds" $(bounds) "$logs/new-$target" "corpus/$target"
}

fail() {
    echo "fuzz/run.sh: $1" >&2
    exit 1
}

main "$@"
