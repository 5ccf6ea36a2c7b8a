// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "exact/field.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstdint>

namespace echelon::mapped {

/// Rank of a matrix of integers. Instantiated for HostTarget and, when it is built, for CudaTarget. Throws
/// InvalidMatrix, OutOfMemory.
template <class Target, class T>
[[nodiscard]] std::int64_t rank_modulo(const Csr<T>& A, const PrimeField& field);

}  // namespace echelon::mapped
