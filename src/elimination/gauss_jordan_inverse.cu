// SPDX-License-Identifier: BSD-3-Clause
#include "elimination/gauss_jordan_inverse.cpp"
