#!/bin/sh
# Installs the parsers that the names of declarations are compared with: TypeScript's by npm, syn's by cargo, from
# whatever registries they are configured for. universal-ctags comes from the system (apt install universal-ctags).
# What is there is reused; nothing is written into the checkout.
#
# Prints the folder.
set -eu

typescript=5.9.3

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/pilcrow-tests/names
stamp=$cache/ready-$typescript-$(cksum <"$here/rust-spans/src/main.rs" | tr -d ' ')
mkdir -p "$cache/bin"
exec 9>"$cache/lock"
flock 9
if [ -e "$stamp" ]; then
    echo "$cache"
    exit 0
fi

exec 3>&1 1>&2
ctags --version | grep -q "Universal Ctags"
cd "$cache"
echo '{"private":true}' >package.json
npm install --no-audit --no-fund --silent "typescript@$typescript"
rm -rf rust-spans
cp -r "$here/rust-spans" .
cargo build --quiet --release --manifest-path rust-spans/Cargo.toml --target-dir target
cp target/release/rust-spans bin/
touch "$stamp"
exec 1>&3
echo "$cache"
