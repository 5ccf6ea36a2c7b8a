// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/transform.cpp"
