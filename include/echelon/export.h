// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Exports a class or function from a shared library, whose names are hidden otherwise: for each class that a
/// public header defines, and each function that it declares without a body. A macro: the attribute is that
/// of GCC and clang.
#ifdef __GNUC__
#define ECHELON_API __attribute__((visibility("default")))
#else
#define ECHELON_API
#endif
