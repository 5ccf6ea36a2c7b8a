// SPDX-License-Identifier: BSD-3-Clause
/// KLU as the benchmark programs call it.
#pragma once

#include <echelon/matrix/csr.hpp>

#include <klu.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace echelon::bench {

/// KLU's factors of A^T, whose columns are the rows of A.
class Klu {
 public:
  Klu() { klu_defaults(&common_); }
  Klu(const Klu&) = delete;
  Klu& operator=(const Klu&) = delete;
  ~Klu() {
    klu_free_numeric(&numeric_, &common_);
    klu_free_symbolic(&symbolic_, &common_);
  }

  /// The analysis and the first factorisation.
  void factor(const Csr<double>& A) {
    const std::span<const std::int64_t> offsets = A.row_offsets().span();
    const std::span<const std::int32_t> indices = A.column_indices().span();
    offsets_.assign(offsets.begin(), offsets.end());
    indices_.assign(indices.begin(), indices.end());
    symbolic_ = klu_analyze(static_cast<int>(A.rows()), offsets_.data(), indices_.data(), &common_);
    numeric_ = klu_factor(offsets_.data(), indices_.data(), values(A), symbolic_, &common_);
    if (numeric_ == nullptr) throw std::runtime_error("KLU: not factored");
  }
  /// For other values in the pattern of factor(), with its pivots.
  void refactor(const Csr<double>& A) {
    if (klu_refactor(offsets_.data(), indices_.data(), values(A), symbolic_, numeric_, &common_) == 0)
      throw std::runtime_error("KLU: not factored");
  }
  /// x = A^-1 x.
  void solve(std::span<double> x) {
    klu_tsolve(symbolic_, numeric_, static_cast<int>(x.size()), 1, x.data(), &common_);
  }

 private:
  static double* values(const Csr<double>& A) { return const_cast<double*>(A.values().data()); }

  std::vector<int> offsets_, indices_;
  klu_common common_{};
  klu_symbolic* symbolic_ = nullptr;
  klu_numeric* numeric_ = nullptr;
};

}  // namespace echelon::bench
