#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# pkg_config.sh PKG_CONFIG COMPILER LIBDIR SOURCE PROGRAM MATRIX: builds and runs a program with the flags of
# echelon.pc.
set -e
export PKG_CONFIG_PATH="$3/pkgconfig"
# shellcheck disable=SC2046
"$2" "$4" -o "$5" $("$1" --cflags --libs echelon) "-Wl,-rpath,$3"
"$5" "$6"
