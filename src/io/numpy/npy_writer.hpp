// SPDX-License-Identifier: BSD-3-Clause
/// Parts of the .npy writer that the .npz writer uses too.
#pragma once

#include <string>
#include <string_view>

namespace echelon::io {

/// Header of a .npy file, version 1.0. `type` is NumPy's, such as "<f8"; `shape` is Python's tuple.
[[nodiscard]] std::string npy_header(std::string_view type, bool fortran_order, std::string_view shape);

}  // namespace echelon::io
