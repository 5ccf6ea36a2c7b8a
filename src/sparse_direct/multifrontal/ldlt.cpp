// SPDX-License-Identifier: BSD-3-Clause
// Sparse L D L^T factorisation as a Solver.
#include "solver/instantiate.hpp"
#include "sparse_direct/multifrontal/analysis.hpp"
#include "sparse_direct/multifrontal/outcomes.hpp"
#include "sparse_direct/multifrontal/pivoting_solver.hpp"

#include <echelon/methods/sparse_ldlt.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

using namespace sparse_direct;

template <class B, class T>
class LdltSolver final : public PivotingSolver<B, T> {
  using Base = PivotingSolver<B, T>;

 public:
  LdltSolver(const Device& device, const SparseLdltOptions& options)
      : Base(device, {options.ordering, options.refine, options.condition, options.condition_of_updates},
             options.threshold) {}

 private:
  /// Scales A, and pairs rows without a large diagonal element. The scaling of a structurally singular A is
  /// the one for its largest elements, since the matching does not bound elements outside of it.
  void analyze_matrix(const Csr<T>& A, bool same_pattern) override {
    asymmetry_ = find_asymmetry(A, this->device());
    SymmetricMatching matching;
    if (!asymmetry_) matching = symmetric_matching(A);
    const bool same = same_pattern && matching.partner == matching_.partner;
    matching_ = std::move(matching);
    if (matching_.structural_rank < A.rows()) {
      set_scale(infinity_norm_scaling(A).rows, ScalingKind::infinity_norm);
    } else {
      set_scale(std::move(matching_.scale), matching_.kind);
    }
    if (!same) lay_out_matrix(A);
  }

  void lay_out_matrix(const Csr<T>& A) {
    AnalysisOptions analysis;
    analysis.ordering = {.ordering = this->common_options().ordering, .threads = this->threads()};
    analysis.partner = matching_.partner;
    this->fronts_.analyze(analyze_symmetric(A, analysis), FactorKind::ldlt, A);
    this->fronts_.expect_delays(matching_.unmatched_rows);
  }

  void adapt_to_values(const Csr<T>& A) override {
    asymmetry_ = find_asymmetry(A, this->device());
    set_scale(infinity_norm_scaling(A).rows, ScalingKind::infinity_norm);
  }

  Outcome factor_values(const Csr<T>& A) override {
    if (asymmetry_) return not_symmetric(*asymmetry_, Status::breakdown);
    if (std::optional<Outcome> lack = this->check_memory()) return *lack;
    Outcome outcome = this->factor_and_assess(A);
    if (outcome.status == Status::cancelled) return outcome;
    const FactorFacts& facts = this->fronts_.facts();
    this->complete(outcome, {}, {}, facts.rank == matching_.structural_rank);
    add_inertia(outcome);
    outcome.statistics.push_back({"scaling", std::string(to_string(kind_))});
    outcome.statistics.push_back({"two_by_two_pivots", facts.two_by_two_pivots});
    this->add_pivot_statistics(outcome);
    return outcome;
  }

  /// Adds the inertia, unless pivots were perturbed, since these do not have the signs of eigenvalues of A.
  void add_inertia(Outcome& outcome) const {
    const FactorFacts& facts = this->fronts_.facts();
    if (facts.perturbed_pivots > 0) return;
    outcome.statistics.insert(outcome.statistics.end(),
                              {{"positive_eigenvalues", facts.positive},
                               {"negative_eigenvalues", facts.negative},
                               {"zero_eigenvalues", this->fronts_.factors().n - facts.rank}});
  }

  void set_scale(std::vector<double> scale, ScalingKind kind) {
    kind_ = kind;
    this->scale_of_factors_.columns = scale;
    this->scale_of_factors_.rows = std::move(scale);
    this->scale_ = this->scale_of_factors_;
  }

  SymmetricMatching matching_;
  ScalingKind kind_ = ScalingKind::infinity_norm;
  std::optional<Place> asymmetry_;
};

}  // namespace

template <>
struct MethodWith<SparseLdltOptions> {
  template <class B, class T>
  using Type = LdltSolver<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(
    const Device&, const SparseLdltOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(
    const Device&, const SparseLdltOptions&);

}  // namespace echelon
