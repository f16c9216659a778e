#!/bin/bash
# Installs what the tests of the editor extensions need, into a cache outside the checkout, and reuses what is there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
for part in "$here"/setup-*.sh; do
  bash "$part"
done
