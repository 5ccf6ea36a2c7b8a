// SPDX-License-Identifier: BSD-3-Clause
/// A sparse matrix from elements that come in any order, from several threads.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <memory>
#include <span>

namespace echelon {

/// Collects entries and assembles a Csr from them, on the host. Thread-safe: any number of threads may add
/// entries and build at the same time; a build uses the entries added before it. Duplicate entries are summed
/// in ascending order of magnitude, of equal magnitudes the negative first, so the result has the same bits
/// in whatever order, and from whichever threads, they were added. Memory: 16 (double) or 12 (float) bytes an
/// entry, up to twice that while it grows.
template <class T>
class ECHELON_API CsrBuilder {
 public:
  /// Throws InvalidMatrix for a shape that a Csr cannot have.
  CsrBuilder(std::int64_t rows, std::int64_t columns);
  CsrBuilder(CsrBuilder&&) noexcept;
  CsrBuilder& operator=(CsrBuilder&&) noexcept;
  ~CsrBuilder();

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  /// Number of entries added.
  [[nodiscard]] std::int64_t entries() const;

  /// Adds value to element (row, column). Throws InvalidMatrix for an index out of range.
  void add(std::int32_t row, std::int32_t column, T value);
  /// Adds many entries under one lock: all or none.
  void add(std::span<const Triplet<T>> entries);

  /// Assembles the matrix of all entries added, on `device`; the entries are kept, and more may follow.
  /// Positions that were added stay stored even if they sum to zero. Time and memory are those of
  /// Csr::from_triplets, plus a copy of the entries.
  [[nodiscard]] Csr<T> build(const Device& device = {}) const;

 private:
  struct [[gnu::visibility("hidden")]] Shares;
  std::int64_t rows_;
  std::int64_t columns_;
  std::unique_ptr<Shares> shares_;
};

extern template class CsrBuilder<float>;
extern template class CsrBuilder<double>;

}  // namespace echelon
