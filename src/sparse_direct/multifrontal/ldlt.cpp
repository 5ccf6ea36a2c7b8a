// SPDX-License-Identifier: BSD-3-Clause
// Sparse L D L^T factorisation on the host.
#include "matrix/structure/magnitudes.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"
#include "sparse_direct/matching/large_diagonal.hpp"
#include "sparse_direct/multifrontal/analysis.hpp"
#include "sparse_direct/multifrontal/front_factorization.hpp"
#include "sparse_direct/multifrontal/fronts/unpack.hpp"
#include "sparse_direct/multifrontal/outcomes.hpp"
#include "sparse_direct/multifrontal/rank_deciding_factorization.hpp"

#include <echelon/error.hpp>
#include <echelon/methods/sparse_ldlt.hpp>

#include <support/scalar_list.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

using namespace sparse_direct;

/// L D L^T of a symmetric A. Matching, scaling and ordering are those of the magnitudes of the elements. For
/// a complex symmetric A there are no conjugates, and D has no inertia.
template <class B, class T>
class SparseLdltFactorization final
    : public FrontFactorization<RankDecidingFactorization<B, T>, PivotedFactorization<T>> {
  using Base = FrontFactorization<RankDecidingFactorization<B, T>, PivotedFactorization<T>>;
  using Context = typename Base::Context;

 public:
  SparseLdltFactorization(const Device& device, const SparseLdltOptions& options)
      : Base(device, SparseOptions::of(options), options.threshold) {}

  [[nodiscard]] DeterminantProduct determinant(B& /*backend*/) const {
    DeterminantProduct product = pivot_product(this->fronts().factors());
    product.divide_by_all(scaling_.rows);
    product.divide_by_all(scaling_.columns);
    return product;
  }
  [[nodiscard]] Inertia inertia() const {
    if (!has_inertia()) throw Error("a complex symmetric matrix has no inertia: a Hermitian one has");
    return inertia_of(this->fronts().factors());
  }
  [[nodiscard]] MatrixFactors<T> factors(B& /*backend*/) const {
    MatrixFactors<T> result = unpack(this->fronts().factors());
    result.row_scales = scaling_.rows;
    result.column_scales = scaling_.columns;
    return result;
  }
  [[nodiscard]] std::size_t bytes() const {
    return this->fronts().bytes() + (scaling_.rows.size() + scaling_.columns.size()) * sizeof(double);
  }

 private:
  /// Scales A, and pairs rows without a large diagonal element. The scaling of a structurally singular A is
  /// the one for its largest elements, since the matching does not bound elements outside of it.
  void analyze_matrix(const Csr<T>& A, const AnalysisRequest& request) override {
    symmetry_ = kind_of_ldlt(A, this->device());
    SymmetricMatching matching;
    if (!symmetry_.refusal)
      matching = with_magnitudes(A, [](const auto& sizes) { return symmetric_matching(sizes); });
    const bool same = request.same_pattern && matching.partner == matching_.partner &&
                      this->fronts().layout().kind == symmetry_.kind;
    matching_ = std::move(matching);
    if (matching_.structural_rank < A.rows()) {
      scale_to_infinity_norm(A);
    } else {
      set_scaling(std::move(matching_.scale), matching_.kind);
    }
    if (!same) lay_out_matrix(A, request);
  }

  [[nodiscard]] bool has_inertia() const { return has_inertia_of<T>(symmetry_.kind); }

  void lay_out_matrix(const Csr<T>& A, const AnalysisRequest& request) {
    AnalysisOptions analysis;
    analysis.ordering = request.ordering;
    analysis.ordering.minimum_degree = {};  // of single rows
    analysis.partner = matching_.partner;
    this->fronts().analyze(analyze_symmetric(A, analysis), symmetry_.kind, A);
    this->fronts().expect_delays(matching_.unmatched_rows);
  }

  void adapt_to_values(const Csr<T>& A) override {
    symmetry_ = kind_of_ldlt(A, this->device());
    if (this->fronts().layout().kind != symmetry_.kind)
      return analyze_matrix(A, this->request(this->options().ordering, true));
    scale_to_infinity_norm(A);
  }

  Outcome factor_values(const Context& context) override {
    if (symmetry_.refusal) return *symmetry_.refusal;
    PivotedFactorization<T>& fronts = this->fronts();
    if (std::optional<Outcome> lack = fronts.lack_of_memory("the factorisation")) return *lack;
    Outcome outcome = this->factor_and_assess(context, fronts, scaling_);
    if (outcome.status == Status::cancelled) return outcome;
    this->decide_and_complete(
        context, fronts, scaling_, this->are_trustworthy(context, fronts), matching_.structural_rank,
        [this](Outcome& completed) { add_statistics(completed); }, outcome);
    return outcome;
  }

  /// Adds the inertia, unless pivots were perturbed, since these do not have the signs of eigenvalues of A.
  void add_statistics(Outcome& outcome) const {
    const FactorFacts& facts = this->fronts().facts();
    if (has_inertia() && facts.perturbed_pivots == 0) {
      outcome.statistics.insert(outcome.statistics.end(),
                                {{"positive_eigenvalues", facts.positive},
                                 {"negative_eigenvalues", facts.negative},
                                 {"zero_eigenvalues", this->fronts().factors().n - facts.rank}});
    }
    outcome.statistics.push_back({"scaling", std::string(to_string(scaling_kind_))});
    if (has_inertia()) outcome.statistics.push_back({"two_by_two_pivots", facts.two_by_two_pivots});
  }

  [[nodiscard]] const Scaling& scaling() const override { return scaling_; }

  void scale_to_infinity_norm(const Csr<T>& A) {
    set_scaling(with_magnitudes(A, [](const auto& sizes) { return infinity_norm_scaling(sizes).rows; }),
                ScalingKind::infinity_norm);
  }
  /// Pivots do not compare with those of another kind of scaling.
  void set_scaling(std::vector<double> scale, ScalingKind kind) {
    if (kind != scaling_kind_) this->forget_condition();
    scaling_kind_ = kind;
    scaling_.columns = scale;
    scaling_.rows = std::move(scale);
  }

  Scaling scaling_;
  SymmetricMatching matching_;
  ScalingKind scaling_kind_ = ScalingKind::infinity_norm;
  SymmetricKind symmetry_{FactorKind::ldlt, {}};
};

}  // namespace

template <>
struct MethodWith<SparseLdltOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, SparseLdltFactorization<B, T>>;
};

#define ECHELON_INSTANTIATE(T)                                                       \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<HostTarget>( \
      const Device&, const SparseLdltOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
