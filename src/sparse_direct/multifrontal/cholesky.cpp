// SPDX-License-Identifier: BSD-3-Clause
// Sparse Cholesky factorisation as a Solver.
#include "solver/instantiate.hpp"
#include "sparse_direct/multifrontal/analysis.hpp"
#include "sparse_direct/multifrontal/outcomes.hpp"
#include "sparse_direct/multifrontal/solver.hpp"

#include <echelon/methods/sparse_cholesky.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon {

namespace {

using namespace sparse_direct;

template <class B, class T>
class CholeskySolver final : public MultifrontalSolver<B, T> {
  using Base = MultifrontalSolver<B, T>;

 public:
  CholeskySolver(const Device& device, const SparseCholeskyOptions& options)
      : Base(device, {options.ordering, options.refine, options.condition, options.condition_of_updates}) {}

 private:
  void analyze_matrix(const Csr<T>& A, bool /*same_pattern*/) override {
    AnalysisOptions analysis;
    analysis.ordering = {.ordering = this->common_options().ordering,
                         .minimum_degree = this->known_minimum_degree(),
                         .threads = this->threads()};
    this->fronts_.analyze(analyze_symmetric(A, analysis), FactorKind::cholesky, A);
  }

  Outcome factor_values(const Csr<T>& A) override {
    if (const std::optional<Place> place = find_asymmetry(A, this->device())) return not_symmetric(*place);
    if (std::optional<Outcome> lack = this->check_memory()) return *lack;
    const FactorResult result = this->factor_with({A.values().data()}, {});
    if (result.end == FactorEnd::cancelled) return cancelled_factorization();
    if (result.end == FactorEnd::no_pivot) {
      return not_positive(result.failed->column, short_number(*result.failed->value));
    }
    Outcome outcome;
    if (this->common_options().condition) {
      const std::vector<double> scale = scale_to_unit_diagonal(A);
      const double ratio = pivot_ratio(this->fronts_.factors(), [&](std::int64_t k) {
        const double s = scale[this->fronts_.column_order()[static_cast<std::size_t>(k)]];
        return s * s;
      });
      outcome = assess_condition<T>(this->reciprocal_condition(A, {scale, scale}, ratio));
    }
    outcome.rank = A.rows();
    outcome.statistics = this->fronts_.statistics();
    return outcome;
  }

  /// Powers of two near 1 / sqrt(a_ii).
  static std::vector<double> scale_to_unit_diagonal(const Csr<T>& A) {
    std::vector<double> scale(static_cast<std::size_t>(A.rows()), 1);
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        if (A.column_indices()[k] == i) {
          scale[static_cast<std::size_t>(i)] =
              std::ldexp(1.0, -std::ilogb(static_cast<double>(A.values()[k])) / 2);
        }
      }
    }
    return scale;
  }
};

}  // namespace

template <>
struct MethodWith<SparseCholeskyOptions> {
  template <class B, class T>
  using Type = CholeskySolver<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(
    const Device&, const SparseCholeskyOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(
    const Device&, const SparseCholeskyOptions&);

}  // namespace echelon
