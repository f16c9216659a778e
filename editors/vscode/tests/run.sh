#!/bin/sh
# Tests the extension in real VS Code: prints one line for each test and exits with 0 only when all of them passed; never touches the user's own VS Code.
#
# Usage: tests/run.sh [SUITE…]     the suites are those of tests/run.mjs; without any, all of them
set -eu
cd "$(dirname "$0")/.."
tools=$(sh ../setup-vscode.sh)
. "$tools/env"
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    npm ci --ignore-scripts --no-audit --no-fund >&2
fi
# Where the system allows it there is no network at all but the machine's own.
if unshare -rn ip link set lo up 2>/dev/null; then
    exec unshare -rn sh -c 'ip link set lo up && exec node tests/run.mjs "$@"' sh "$tools" "$@"
fi
echo "note: the network is not cut off, since unshare is not allowed here"
exec node tests/run.mjs "$tools" "$@"
