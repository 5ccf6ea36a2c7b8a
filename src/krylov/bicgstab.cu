// SPDX-License-Identifier: BSD-3-Clause
#include "krylov/bicgstab.cpp"
