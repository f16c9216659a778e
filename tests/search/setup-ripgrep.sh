#!/bin/sh
# Installs ripgrep, as its wheel has it, into a cache folder and reuses it when it is there. It never writes into the checkout.
#
# Prints the path of rg. From nothing it takes ten seconds.
set -eu

version=15.1.0

cache=${XDG_CACHE_HOME:-$HOME/.cache}/pilcrow-tests/ripgrep-$version
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ ! -e "$cache/ready" ]; then
    python3 -m venv "$cache/python" >&2
    "$cache/python/bin/pip" install --quiet --disable-pip-version-check "ripgrep==$version" >&2
    "$cache/python/bin/rg" --version >&2
    touch "$cache/ready"
fi
echo "$cache/python/bin/rg"
