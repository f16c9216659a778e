#!/bin/bash
# Runs every test of the Neovim plugin in a real Neovim and prints one line for each; it never reads the user's own configuration.
# usage: run.sh [NAME…]   (names of test files without _test.lua)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../../.." && pwd)

if [ -z "${PILCROW_BIN:-}" ]; then
  for built in release debug; do
    if [ -x "$repository/target/$built/pilcrow" ]; then
      PILCROW_BIN="$repository/target/$built/pilcrow"
      break
    fi
  done
fi
if [ ! -x "${PILCROW_BIN:-}" ]; then
  echo "There is no pilcrow: build it with 'cargo build', or name it in PILCROW_BIN." >&2
  exit 2
fi
export PILCROW_BIN

# shellcheck source=../../setup-neovim.sh
. "$repository/editors/setup-neovim.sh"
nvim=$(pilcrow_neovim)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export XDG_CONFIG_HOME="$scratch/config" XDG_DATA_HOME="$scratch/data" XDG_STATE_HOME="$scratch/state" XDG_CACHE_HOME="$scratch/cache"
export PILCROW_TEST_TALLY="$scratch/tally"
mkdir -p "$XDG_CONFIG_HOME" "$XDG_DATA_HOME" "$XDG_STATE_HOME" "$XDG_CACHE_HOME"
: >"$PILCROW_TEST_TALLY"

status=0
for file in "$here"/*_test.lua; do
  name=$(basename "$file" _test.lua)
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then
    continue
  fi
  # A guard against hanging: on a busy machine a file takes minutes.
  timeout 900 "$nvim" --clean --headless -n -l "$file" </dev/null || { status=1; echo "FAIL $name: its Neovim ended with an error"; }
done
passed=$(grep -c '^passed' "$PILCROW_TEST_TALLY" || true)
failed=$(grep -c '^failed' "$PILCROW_TEST_TALLY" || true)
[ "$status" = 0 ] || [ "$failed" != 0 ] || failed=1
echo "neovim: $passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
