// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <complex>

namespace echelon {

/// The real matrix as a complex one, in host memory: for a system with a complex right-hand side. Throws
/// DeviceMismatch for a matrix on a GPU.
template <class T>
[[nodiscard]] ECHELON_API Dense<std::complex<T>> to_complex(const Dense<T>& matrix);
template <class T>
[[nodiscard]] ECHELON_API Csr<std::complex<T>> to_complex(const Csr<T>& matrix);

}  // namespace echelon
