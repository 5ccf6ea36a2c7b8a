// SPDX-License-Identifier: BSD-3-Clause
/// A sparse matrix from elements that come in any order, from several threads.
#pragma once

#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <memory>
#include <span>

namespace echelon {

/// Collects entries and makes a Csr of them. Any number of threads may add at the same time, and build, too,
/// which then takes what had been added by then. Entries of one place are summed in an order of their values
/// (by magnitude, the smallest first, then the negative one first), so that the result has the same bits
/// whatever came when and from which thread.
/// Memory: 16 (double) or 12 (float) bytes an entry, up to twice that while it grows. Lives on the host.
template <class T>
class CsrBuilder {
 public:
  /// Throws InvalidMatrix for a shape that a Csr cannot have.
  CsrBuilder(std::int64_t rows, std::int64_t columns);
  CsrBuilder(CsrBuilder&&) noexcept;
  CsrBuilder& operator=(CsrBuilder&&) noexcept;
  ~CsrBuilder();

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  /// How many entries were added so far.
  [[nodiscard]] std::int64_t entries() const;

  /// Element (row, column) grows by value. Throws InvalidMatrix for an index out of range.
  void add(std::int32_t row, std::int32_t column, T value);
  /// Adds many entries under one lock: all or none.
  void add(std::span<const Triplet<T>> entries);

  /// The matrix of all entries so far, on `device`; they stay, and more may follow. Places that were added
  /// stay stored when they sum up to zero. Time and memory as of Csr::from_triplets, and a copy of the
  /// entries.
  [[nodiscard]] Csr<T> build(const Device& device = {}) const;

 private:
  struct Shares;
  std::int64_t rows_;
  std::int64_t columns_;
  std::unique_ptr<Shares> shares_;
};

extern template class CsrBuilder<float>;
extern template class CsrBuilder<double>;

}  // namespace echelon
