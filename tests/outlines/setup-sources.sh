#!/usr/bin/env bash
# Sources of languages that a machine seldom has by itself, for `outline::tests::sources`, and ctags, which tells
# their declarations. From the packages of Debian and npm, into a cache; half a minute, the network once.
set -euo pipefail

cache="${XDG_CACHE_HOME:-$HOME/.cache}/pilcrow-tests/outlines"
debs="golang-1.19-src openjdk-17-source libruby3.1 ruby-activerecord ruby-actionpack php-symfony-http-foundation
  php-symfony-console php-doctrine-orm"
packages="rxjs@7.8.2 com.cysharp.unitask@2.2.5 vscode-languageclient@9.0.1 typescript@5.4.5"

command -v ctags > /dev/null || apt-get install -y universal-ctags
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download $debs
for deb in *.deb; do
  dpkg-deb -x "$deb" debian
done
(cd debian && unzip -q usr/lib/jvm/*/lib/src.zip 'java.base/java/*' 'java.base/sun/*' -d java)
for package in $packages; do
  npm pack --silent "$package" > name
  mkdir -p "npm/$package"
  tar xzf "$(cat name)" -C "npm/$package"
done
mkdir -p "$cache"
rm -rf "$cache/debian" "$cache/npm"
find debian npm -type l -delete
mv debian npm "$cache"
echo "$cache"
