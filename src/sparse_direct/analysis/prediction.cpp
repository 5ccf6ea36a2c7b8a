// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "matrix/host_copy.hpp"
#include "matrix/shape.hpp"
#include "sparse_direct/matching/large_diagonal.hpp"
#include "sparse_direct/ordering/ordering.hpp"
#include "sparse_direct/pattern/pattern.hpp"
#include "sparse_direct/singletons/core.hpp"
#include "sparse_direct/symbolic/symbolic_factor.hpp"

#include <echelon/matrix/structure.hpp>
#include <echelon/sparse_direct.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace echelon {

namespace {

using sparse_direct::SymbolicFactor;

template <class T>
FactorPrediction prediction_of(const SymbolicFactor& factor, bool symmetric) {
  FactorPrediction prediction;
  prediction.symmetric = symmetric;
  prediction.ordering = factor.ordering;
  prediction.supernodes = factor.supernodes();
  prediction.entries = symmetric ? factor.factor_entries : 2 * factor.factor_entries - factor.n;
  prediction.flops = symmetric ? factor.flops : 2 * factor.flops;
  const std::int64_t stored = symmetric ? factor.stored_entries : 2 * factor.stored_entries - factor.n;
  prediction.bytes =
      static_cast<std::size_t>(stored) * sizeof(T) + factor.rows.size() * sizeof(std::int32_t) +
      factor.row_begin.size() * sizeof(std::int64_t) + factor.supernode_begin.size() * sizeof(std::int32_t);
  for (std::int64_t s = 0; s < factor.supernodes(); ++s) {
    prediction.largest_front = std::max(prediction.largest_front, factor.front_size(s));
  }
  return prediction;
}

/// Symmetry of a matrix, and the elements that are brought to the diagonal if it is unsymmetric.
struct Matched {
  template <class T>
  explicit Matched(MatrixRef<T> A)
      : symmetric(analyze_structure(A).symmetric_values),
        diagonal(symmetric ? sparse_direct::LargeDiagonal() : sparse_direct::large_diagonal(*A.csr())),
        structural_rank(symmetric ? echelon::structural_rank(A) : diagonal.structural_rank) {}
  bool symmetric;
  sparse_direct::LargeDiagonal diagonal;
  std::int64_t structural_rank;
};

template <class T>
FactorPattern pattern_of(const Csr<T>& a, const Matched& matched,
                         const sparse_direct::OrderingOptions& options) {
  const std::vector<std::int32_t>& rows = matched.diagonal.row_permutation;
  const sparse_direct::PatternStorage pattern = sparse_direct::symmetrized_pattern(a, rows);
  SymbolicFactor factor = sparse_direct::analyze_symmetric(pattern.view(), {.ordering = options});
  FactorPattern result;
  result.prediction = prediction_of<T>(factor, matched.symmetric);
  result.prediction.structural_rank = matched.structural_rank;
  result.row_permutation = factor.permutation;
  for (std::int32_t& row : result.row_permutation) {
    if (!matched.symmetric) row = rows[row];
  }
  result.column_permutation = std::move(factor.permutation);
  result.supernode_begin = std::move(factor.supernode_begin);
  result.row_begin = std::move(factor.row_begin);
  result.rows = std::move(factor.rows);
  return result;
}

/// Prediction for a structurally singular matrix.
template <class T>
FactorPrediction prediction_of_singular(const Csr<T>& a, const sparse_direct::OrderingOptions& options) {
  const sparse_direct::Core<T> core = sparse_direct::core_of(a);
  FactorPrediction prediction = prediction_of<T>(analyze_core(core, options), false);
  const std::int64_t others = a.nonzeros() - core.matrix.nonzeros();  // outside the core; they cause no fill
  prediction.entries += others;
  prediction.bytes += static_cast<std::size_t>(others) * (sizeof(T) + sizeof(std::int32_t));
  prediction.structural_rank = core.singletons.count() + core.diagonal.structural_rank;
  return prediction;
}

/// Number of threads of the device of A, or of the host if A is on a GPU.
template <class T>
sparse_direct::OrderingOptions options_for(const Csr<T>& A, Ordering ordering) {
  const Device device = A.device().on_host() ? A.device() : Device();
  return {.ordering = ordering, .threads = device.threads()};
}

}  // namespace

template <class T>
Array<std::int32_t> fill_reducing_ordering(const Csr<T>& A, Ordering ordering) {
  return at_api_boundary([&] {
    require_square(A.rows(), A.columns(), "an ordering needs");
    const HostCopy<T> host{MatrixRef<T>(A)};
    const sparse_direct::PatternStorage pattern = sparse_direct::symmetrized_pattern(*host.matrix().csr());
    const sparse_direct::OrderingOptions options = options_for(A, ordering);
    const std::vector<std::int32_t> order =
        ordering == Ordering::automatic
            ? sparse_direct::ordered_forest(pattern.view(), options).forest.permutation
            : sparse_direct::order(pattern.view(), options);
    return Array<std::int32_t>(Device(), std::span<const std::int32_t>(order));
  });
}

template <class T>
FactorPattern factor_pattern(const Csr<T>& A, Ordering ordering) {
  return at_api_boundary([&] {
    require_square(A.rows(), A.columns(), "a factorisation needs");
    const HostCopy<T> host{MatrixRef<T>(A)};
    return pattern_of(*host.matrix().csr(), Matched(host.matrix()), options_for(A, ordering));
  });
}

template <class T>
FactorPrediction predict_factor(const Csr<T>& A, Ordering ordering) {
  return at_api_boundary([&] {
    require_square(A.rows(), A.columns(), "a factorisation needs");
    const HostCopy<T> host{MatrixRef<T>(A)};
    const Csr<T>& a = *host.matrix().csr();
    const Matched matched(host.matrix());
    if (matched.structural_rank < A.rows()) return prediction_of_singular(a, options_for(A, ordering));
    return pattern_of(a, matched, options_for(A, ordering)).prediction;
  });
}

template Array<std::int32_t> fill_reducing_ordering(const Csr<float>&, Ordering);
template Array<std::int32_t> fill_reducing_ordering(const Csr<double>&, Ordering);
template FactorPattern factor_pattern(const Csr<float>&, Ordering);
template FactorPattern factor_pattern(const Csr<double>&, Ordering);
template FactorPrediction predict_factor(const Csr<float>&, Ordering);
template FactorPrediction predict_factor(const Csr<double>&, Ordering);

}  // namespace echelon
