// SPDX-License-Identifier: BSD-3-Clause
#include "solver/audit.cpp"
