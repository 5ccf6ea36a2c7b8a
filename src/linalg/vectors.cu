// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/vectors.cpp"
