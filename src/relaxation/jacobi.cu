// SPDX-License-Identifier: BSD-3-Clause
#include "relaxation/jacobi.cpp"
