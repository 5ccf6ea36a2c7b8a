// SPDX-License-Identifier: BSD-3-Clause
// Sparse LU factorisation of complex matrices on the host, by fronts.
#include "backend/host/host.hpp"
#include "matrix/structure/magnitudes.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"
#include "sparse_direct/matching/large_diagonal.hpp"
#include "sparse_direct/multifrontal/pivoted_factorization.hpp"
#include "sparse_direct/multifrontal/rank_deciding_factorization.hpp"
#include "sparse_direct/pattern/pattern.hpp"
#include "sparse_direct/symbolic/symbolic_factor.hpp"

#include <echelon/error.hpp>
#include <echelon/methods/sparse_lu.hpp>

#include <support/scalar_list.hpp>

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

/// Multifrontal LU. Matching, scaling and ordering are those of the magnitudes of the elements. Ranks are
/// known to working precision: exact ones are those of real matrices.
template <class B, class T>
class ComplexSparseLuFactorization final : public RankDecidingFactorization<B, T> {
  using Base = RankDecidingFactorization<B, T>;
  using Context = typename Base::Context;

 public:
  ComplexSparseLuFactorization(const Device& device, const SparseLuOptions& options)
      : Base(device, {options.ordering, options.condition, options.condition_of_updates}),
        fronts_(device, options.threshold) {}

  [[nodiscard]] std::size_t bytes() const {
    return fronts_.bytes() + (scaling().rows.size() + scaling().columns.size()) * sizeof(double);
  }

 private:
  void analyze_matrix(const Csr<T>& A, const AnalysisRequest& request) override {
    const Csr<double> magnitudes = magnitudes_of(A);
    LargeDiagonal diagonal = large_diagonal(magnitudes);
    const bool same = request.same_pattern && diagonal.row_permutation == diagonal_.row_permutation &&
                      fronts_.layout().tree.n == A.rows();
    diagonal_ = std::move(diagonal);
    if (same) return;
    AnalysisOptions options;
    options.ordering = request.ordering;
    if (!diagonal_.unmatched_columns.empty()) options.ordering.minimum_degree = {};
    const PatternStorage pattern = symmetrized_pattern(magnitudes, diagonal_.row_permutation);
    fronts_.analyze(analyze_symmetric(pattern.view(), options), FactorKind::lu, A, diagonal_.row_permutation);
  }

  void adapt_to_values(const Csr<T>& A) override {
    diagonal_.scaling = infinity_norm_scaling(magnitudes_of(A));
    diagonal_.kind = ScalingKind::infinity_norm;
  }

  Outcome factor_values(const Context& context) override {
    if (std::optional<Outcome> lack = fronts_.lack_of_memory("the factorisation")) return *lack;
    Outcome outcome = this->factor_and_assess(context, fronts_, scaling());
    if (outcome.status == Status::cancelled) return outcome;
    const bool trustworthy = this->are_trustworthy(context, fronts_);
    const bool doubtful = !trustworthy || this->is_nearly_singular(outcome);
    this->complete(outcome, fronts_, !diagonal_.unmatched_columns.empty());
    outcome.statistics.insert(outcome.statistics.begin(),
                              {"factorization", std::string(to_string(LuFactorization::multifrontal))});
    outcome.statistics.insert(outcome.statistics.end(),
                              {{"scaling", std::string(to_string(diagonal_.kind))},
                               {"row_exchanges", std::string(diagonal_.permuted ? "matching" : "none")}});
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
  [[nodiscard]] const Scaling& scaling() const override { return diagonal_.scaling; }
  [[nodiscard]] std::int64_t scratch_size(int columns) const override {
    return fronts_.scratch_size(columns);
  }
  void apply_inverse(bool transposed, int columns, T* x, T* scratch) const override {
    fronts_.substitute(transposed, columns, x, scratch);
  }

  PivotedFactorization<T> fronts_;
  LargeDiagonal diagonal_;
};

template <class T>
std::unique_ptr<SolverImplementation<T>> make_complex_sparse_lu(const Device& device,
                                                                const SparseLuOptions& options) {
  if (options.factorization == LuFactorization::left_looking)
    throw BadOption("factorization", "complex matrices are factored by fronts: leave factorization out");
  return std::make_unique<DirectMethod<Host, T, ComplexSparseLuFactorization<Host, T>>>(device, options);
}

}  // namespace

#define ECHELON_INSTANTIATE(T)                                                                               \
  template <>                                                                                                \
  std::unique_ptr<SolverImplementation<T>> make_implementation<HostTarget>(const Device& device,             \
                                                                           const SparseLuOptions& options) { \
    return make_complex_sparse_lu<T>(device, options);                                                       \
  }
ECHELON_FOR_EACH_COMPLEX(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
