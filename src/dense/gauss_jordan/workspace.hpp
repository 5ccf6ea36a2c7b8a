// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/target.hpp"
#include "dense/gauss_jordan/operations.hpp"
#include "dense/panels/blocked_elimination.hpp"
#include "linalg/residual_check.hpp"

#include <memory>

namespace echelon {

/// O(n) elements for the inverses of n by n matrices.
template <class T>
struct InverseScratch {
  Array<double> row_sums;
  Array<T> vectors;  // 2

  void fit(const Device& device, std::int64_t n) {
    if (row_sums.size() == n) return;
    row_sums = Array<double>(device, n);
    vectors = Array<T>(device, 2 * n);
  }
};

template <class B, class T>
struct BackendSpace final : EliminationSpace {
  explicit BackendSpace(const Device& of)
      : EliminationSpace(of), tools(of), audit(make_audit<ThisTarget, T>(of)) {}
  /// For eliminations in lower precision; made when it is first needed.
  BackendSpace<B, float>& lower() {
    if (lower_ == nullptr) lower_ = std::make_unique<BackendSpace<B, float>>(device);
    return *lower_;
  }
  EliminationTools<B> tools;
  InverseScratch<T> inverse;
  std::unique_ptr<Audit<T>> audit;

 private:
  std::unique_ptr<BackendSpace<B, float>> lower_;
};

/// The space of a device that is known to be served by B.
template <class B, class T>
BackendSpace<B, T>& space_of(EliminationSpace& space) {
  return static_cast<BackendSpace<B, T>&>(space);
}

}  // namespace echelon
