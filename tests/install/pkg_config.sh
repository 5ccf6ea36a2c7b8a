#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# pkg_config.sh PKG_CONFIG COMPILER LIBDIR PACKAGE SOURCE PROGRAM MATRIX: builds and runs a program with the flags of
# PACKAGE.pc.
set -e
export PKG_CONFIG_PATH="$3/pkgconfig"
# shellcheck disable=SC2046
"$2" "$5" -o "$6" $("$1" --cflags --libs "$4") -lm "-Wl,-rpath,$3"
"$6" "$7"
