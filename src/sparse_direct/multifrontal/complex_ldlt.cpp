// SPDX-License-Identifier: BSD-3-Clause
// Sparse L D L^T factorisation of complex symmetric matrices on the host.
#include "backend/host/host.hpp"
#include "matrix/rows.hpp"
#include "matrix/structure/magnitudes.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"
#include "sparse_direct/matching/large_diagonal.hpp"
#include "sparse_direct/multifrontal/analysis.hpp"
#include "sparse_direct/multifrontal/outcomes.hpp"
#include "sparse_direct/multifrontal/rank_deciding_factorization.hpp"
#include "support/scalar.hpp"

#include <echelon/methods/sparse_ldlt.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

using namespace sparse_direct;

/// The first element, row by row, that differs from its mirror by more than rounding errors.
template <class T>
std::optional<Place> first_unsymmetric(const Csr<T>& A) {
  const SparseRows<T> rows(A);
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = rows.begin(i); k < rows.end(i); ++k) {
      const T element = rows.value(i, k);
      const T mirror = rows.at(rows.column(k), i);
      if (magnitude(element - mirror) >
          symmetry_tolerance<T> * std::max(magnitude(element), magnitude(mirror)))
        return Place{i, rows.column(k)};
    }
  }
  return std::nullopt;
}

/// Multifrontal L D L^T of A = A^T, without conjugates: D has no inertia. Matching, scaling and ordering are
/// those of the magnitudes of the elements; ranks are known to working precision.
template <class B, class T>
class ComplexLdltFactorization final : public RankDecidingFactorization<B, T> {
  using Base = RankDecidingFactorization<B, T>;
  using Context = typename Base::Context;

 public:
  ComplexLdltFactorization(const Device& device, const SparseLdltOptions& options)
      : Base(device, {options.ordering, options.condition, options.condition_of_updates}),
        fronts_(device, options.threshold) {}

  [[nodiscard]] std::size_t bytes() const {
    return fronts_.bytes() + (scaling_.rows.size() + scaling_.columns.size()) * sizeof(double);
  }

 private:
  void analyze_matrix(const Csr<T>& A, const AnalysisRequest& request) override {
    asymmetry_ = first_unsymmetric(A);
    SymmetricMatching matching;
    const Csr<double> magnitudes = magnitudes_of(A);
    if (!asymmetry_) matching = symmetric_matching(magnitudes);
    const bool same = request.same_pattern && matching.partner == matching_.partner;
    matching_ = std::move(matching);
    if (matching_.structural_rank < A.rows()) {
      set_scaling(infinity_norm_scaling(magnitudes).rows, ScalingKind::infinity_norm);
    } else {
      set_scaling(std::move(matching_.scale), matching_.kind);
    }
    if (same) return;
    AnalysisOptions analysis;
    analysis.ordering = request.ordering;
    analysis.ordering.minimum_degree = {};  // of single rows
    analysis.partner = matching_.partner;
    fronts_.analyze(analyze_symmetric(magnitudes, analysis), FactorKind::ldlt, A);
    fronts_.expect_delays(matching_.unmatched_rows);
  }

  void adapt_to_values(const Csr<T>& A) override {
    asymmetry_ = first_unsymmetric(A);
    set_scaling(infinity_norm_scaling(magnitudes_of(A)).rows, ScalingKind::infinity_norm);
  }

  Outcome factor_values(const Context& context) override {
    if (asymmetry_) {
      Outcome refused = not_symmetric(*asymmetry_, Status::breakdown);
      refused.message += "; sparse-lu takes any A";
      return refused;
    }
    if (std::optional<Outcome> lack = fronts_.lack_of_memory("the factorisation")) return *lack;
    Outcome outcome = this->factor_and_assess(context, fronts_, scaling_);
    if (outcome.status == Status::cancelled) return outcome;
    const bool trustworthy = this->are_trustworthy(context, fronts_);
    const bool doubtful = !trustworthy || this->is_nearly_singular(outcome);
    this->complete(outcome, fronts_, fronts_.facts().rank == matching_.structural_rank);
    outcome.statistics.push_back({"scaling", std::string(to_string(kind_))});
    fronts_.add_pivot_statistics(outcome);
    if (doubtful || fronts_.facts().rank < context.A.rows()) this->add_certainty(outcome, false);
    if (!trustworthy)
      outcome.warnings.emplace_back("the factors do not describe A: answers may have large residuals");
    return outcome;
  }

  [[nodiscard]] CostPrediction analyzed_cost() const override { return fronts_.predicted_cost(); }
  [[nodiscard]] const SymbolicFactor* analyzed_tree() const override { return &fronts_.layout().tree; }
  void release_factors() override { fronts_.release_factors(); }
  [[nodiscard]] const std::vector<std::int32_t>& row_order() const override { return fronts_.row_order(); }
  [[nodiscard]] const std::vector<std::int32_t>& column_order() const override {
    return fronts_.column_order();
  }
  [[nodiscard]] const Scaling& scaling() const override { return scaling_; }
  [[nodiscard]] std::int64_t scratch_size(int columns) const override {
    return fronts_.scratch_size(columns);
  }
  void apply_inverse(bool transposed, int columns, T* x, T* scratch) const override {
    fronts_.substitute(transposed, columns, x, scratch);
  }

  void set_scaling(std::vector<double> scale, ScalingKind kind) {
    kind_ = kind;
    scaling_.columns = scale;
    scaling_.rows = std::move(scale);
  }

  PivotedFactorization<T> fronts_;
  Scaling scaling_;
  SymmetricMatching matching_;
  ScalingKind kind_ = ScalingKind::infinity_norm;
  std::optional<Place> asymmetry_;
};

}  // namespace

#define ECHELON_INSTANTIATE(T)                                                                          \
  template <>                                                                                           \
  std::unique_ptr<SolverImplementation<T>> make_implementation<HostTarget>(                             \
      const Device& device, const SparseLdltOptions& options) {                                         \
    return std::make_unique<DirectMethod<Host, T, ComplexLdltFactorization<Host, T>>>(device, options); \
  }
ECHELON_FOR_EACH_COMPLEX(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
