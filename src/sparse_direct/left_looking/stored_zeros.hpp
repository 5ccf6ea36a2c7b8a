// SPDX-License-Identifier: BSD-3-Clause
/// Elements that are stored and zero. Circuits have many of them, and a factorisation that takes them for
/// nonzeros has more fill and fewer diagonal blocks.
#pragma once

#include <echelon/matrix/csr.hpp>

namespace echelon::sparse_direct {

/// Whether so many elements are zero that a copy without them pays.
template <class T>
[[nodiscard]] bool has_many_zeros(const Csr<T>& a);

/// A copy without the zeros.
template <class T>
[[nodiscard]] Csr<T> without_zeros(const Csr<T>& a);

/// Copies the elements of `a` at the places of `kept`, whose pattern is a part of that of `a`. Returns false,
/// with a part of them copied, if an element elsewhere is not zero.
template <class T>
[[nodiscard]] bool copy_kept_values(const Csr<T>& a, Csr<T>& kept);

}  // namespace echelon::sparse_direct
