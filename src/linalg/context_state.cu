// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/context_state.cpp"
