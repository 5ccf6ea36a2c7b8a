// SPDX-License-Identifier: BSD-3-Clause
/// Compiles the header of the C interface as C++, and compares its types with those of its functions in C.
#include <echelon/echelon.h>

#include <type_traits>

static_assert(std::is_pointer_v<echelon_matrix> && std::is_pointer_v<echelon_solver>);
static_assert(std::is_same_v<decltype(echelon_report_code), int32_t(echelon_report)>);
