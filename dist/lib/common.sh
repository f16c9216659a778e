# Shared by the scripts of dist/: where things are and what they are called. Sourced, never run.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
# Where cargo builds, and below it everything that is made for users.
built=$(realpath -m "${CARGO_TARGET_DIR:-$root/target}")
packages=$built/packages
mkdir -p "$packages"

# What they are called where they are published: npm's scope, and the project on PyPI.
scope=${PILCROW_NPM_SCOPE:-pilcrow}
pypi_name=${PILCROW_PYPI_NAME:-pilcrow}

# What packages there are: the Rust target, npm's name for it, npm's os, cpu and libc, the tag of wheels, VS Code's name.
targets="
x86_64-unknown-linux-gnu   linux-x64        linux  x64   glibc manylinux_2_17_x86_64.manylinux2014_x86_64   linux-x64
x86_64-unknown-linux-musl  linux-x64-musl   linux  x64   musl  musllinux_1_1_x86_64                         alpine-x64
aarch64-unknown-linux-gnu  linux-arm64      linux  arm64 glibc manylinux_2_17_aarch64.manylinux2014_aarch64 linux-arm64
aarch64-unknown-linux-musl linux-arm64-musl linux  arm64 musl  musllinux_1_1_aarch64                        alpine-arm64
x86_64-apple-darwin        darwin-x64       darwin x64   -     macosx_10_12_x86_64                          darwin-x64
aarch64-apple-darwin       darwin-arm64     darwin arm64 -     macosx_11_0_arm64                            darwin-arm64
"

# The row of a target, as variables.
row_of() {
  read -r target npm_name npm_os npm_cpu npm_libc wheel_tag vscode_name \
    < <(grep "^$1 " <<< "$targets") || {
    echo "$1 is no target of packages; those are:" >&2
    awk 'NF { print "  " $1 }' <<< "$targets" >&2
    exit 2
  }
  program=$built/$target/dist/pilcrow
}

# The program of the target that `row_of` was asked for, which dist/build has made.
need_program() {
  [ -x "$program" ] || {
    echo "No program for $target yet: run dist/build $target." >&2
    exit 1
  }
}
