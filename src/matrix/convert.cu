// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/convert.cpp"
