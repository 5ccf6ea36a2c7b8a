// SPDX-License-Identifier: BSD-3-Clause
// Sparse L D L^T factorisation on the host.
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"
#include "sparse_direct/matching/large_diagonal.hpp"
#include "sparse_direct/multifrontal/analysis.hpp"
#include "sparse_direct/multifrontal/fronts/unpack.hpp"
#include "sparse_direct/multifrontal/outcomes.hpp"
#include "sparse_direct/multifrontal/rank_deciding_factorization.hpp"

#include <echelon/methods/sparse_ldlt.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

using namespace sparse_direct;

template <class B, class T>
class SparseLdltFactorization final : public RankDecidingFactorization<B, T> {
  using Base = RankDecidingFactorization<B, T>;
  using Context = typename Base::Context;

 public:
  SparseLdltFactorization(const Device& device, const SparseLdltOptions& options)
      : Base(device, {options.ordering, options.condition, options.condition_of_updates}),
        fronts_(device, options.threshold) {}

  [[nodiscard]] DeterminantProduct determinant(B& /*backend*/) const {
    DeterminantProduct product = pivot_product(fronts_.factors());
    product.divide_by_all(scaling_.rows);
    product.divide_by_all(scaling_.columns);
    return product;
  }
  [[nodiscard]] Inertia inertia() const { return inertia_of(fronts_.factors()); }
  [[nodiscard]] MatrixFactors<T> factors(B& /*backend*/) const {
    MatrixFactors<T> result = unpack(fronts_.factors());
    result.row_scales = scaling_.rows;
    result.column_scales = scaling_.columns;
    return result;
  }
  [[nodiscard]] std::size_t bytes() const {
    return fronts_.bytes() + (scaling_.rows.size() + scaling_.columns.size()) * sizeof(double);
  }

 private:
  /// Scales A, and pairs rows without a large diagonal element. The scaling of a structurally singular A is
  /// the one for its largest elements, since the matching does not bound elements outside of it.
  void analyze_matrix(const Csr<T>& A, const AnalysisRequest& request) override {
    asymmetry_ = find_asymmetry(A, this->device());
    SymmetricMatching matching;
    if (!asymmetry_) matching = symmetric_matching(A);
    const bool same = request.same_pattern && matching.partner == matching_.partner;
    matching_ = std::move(matching);
    if (matching_.structural_rank < A.rows()) {
      set_scaling(infinity_norm_scaling(A).rows, ScalingKind::infinity_norm);
    } else {
      set_scaling(std::move(matching_.scale), matching_.kind);
    }
    if (!same) lay_out_matrix(A, request);
  }

  void lay_out_matrix(const Csr<T>& A, const AnalysisRequest& request) {
    AnalysisOptions analysis;
    analysis.ordering = request.ordering;
    analysis.ordering.minimum_degree = {};  // of single rows
    analysis.partner = matching_.partner;
    fronts_.analyze(analyze_symmetric(A, analysis), FactorKind::ldlt, A);
    fronts_.expect_delays(matching_.unmatched_rows);
  }

  [[nodiscard]] CostPrediction analyzed_cost() const override { return fronts_.predicted_cost(); }
  [[nodiscard]] const SymbolicFactor* analyzed_tree() const override { return &fronts_.layout().tree; }

  void adapt_to_values(const Csr<T>& A) override {
    asymmetry_ = find_asymmetry(A, this->device());
    set_scaling(infinity_norm_scaling(A).rows, ScalingKind::infinity_norm);
  }

  Outcome factor_values(const Context& context) override {
    if (asymmetry_) return not_symmetric(*asymmetry_, Status::breakdown);
    if (std::optional<Outcome> lack = fronts_.lack_of_memory("the factorisation")) return *lack;
    Outcome outcome = this->factor_and_assess(context, fronts_, scaling_);
    if (outcome.status == Status::cancelled) return outcome;
    const bool trustworthy = this->are_trustworthy(context, fronts_);
    const bool doubtful = !trustworthy || this->is_nearly_singular(outcome);
    const bool proven = this->settle_rank(context, fronts_, scaling_, trustworthy, doubtful, outcome);
    if (outcome.status == Status::cancelled) return outcome;
    const FactorFacts& facts = fronts_.facts();
    this->complete(outcome, fronts_, facts.rank == matching_.structural_rank);
    add_inertia(outcome);
    outcome.statistics.push_back({"scaling", std::string(to_string(kind_))});
    outcome.statistics.push_back({"two_by_two_pivots", facts.two_by_two_pivots});
    fronts_.add_pivot_statistics(outcome);
    if (doubtful || facts.rank < context.A.rows()) this->add_certainty(outcome, proven);
    this->add_doubt(outcome, proven || facts.rank == matching_.structural_rank, fronts_);
    return outcome;
  }

  /// Adds the inertia, unless pivots were perturbed, since these do not have the signs of eigenvalues of A.
  void add_inertia(Outcome& outcome) const {
    const FactorFacts& facts = fronts_.facts();
    if (facts.perturbed_pivots > 0) return;
    outcome.statistics.insert(outcome.statistics.end(),
                              {{"positive_eigenvalues", facts.positive},
                               {"negative_eigenvalues", facts.negative},
                               {"zero_eigenvalues", fronts_.factors().n - facts.rank}});
  }

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

template <>
struct MethodWith<SparseLdltOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, SparseLdltFactorization<B, T>>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(
    const Device&, const SparseLdltOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(
    const Device&, const SparseLdltOptions&);

}  // namespace echelon
