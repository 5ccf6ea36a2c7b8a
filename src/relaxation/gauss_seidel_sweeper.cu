// SPDX-License-Identifier: BSD-3-Clause
#include "relaxation/gauss_seidel_sweeper.cpp"
