// SPDX-License-Identifier: BSD-3-Clause
// Sparse LU factorisation of complex matrices on the host, by fronts.
#include "backend/host/host.hpp"
#include "matrix/structure/magnitudes.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"
#include "sparse_direct/lu/fronts.hpp"
#include "sparse_direct/matching/large_diagonal.hpp"
#include "sparse_direct/multifrontal/front_factorization.hpp"
#include "sparse_direct/multifrontal/rank_deciding_factorization.hpp"

#include <echelon/error.hpp>
#include <echelon/methods/sparse_lu.hpp>

#include <support/scalar_list.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

namespace echelon {

namespace {

using namespace sparse_direct;

/// Multifrontal LU. Matching, scaling and ordering are those of the magnitudes of the elements. Ranks are
/// known to working precision: exact ones are those of real matrices.
template <class B, class T>
class ComplexSparseLuFactorization final
    : public FrontFactorization<RankDecidingFactorization<B, T>, FrontLu<T>> {
  using Base = FrontFactorization<RankDecidingFactorization<B, T>, FrontLu<T>>;
  using Context = typename Base::Context;

 public:
  ComplexSparseLuFactorization(const Device& device, const SparseLuOptions& options)
      : Base(device, SparseOptions::of(options), options.threshold) {}

  [[nodiscard]] DeterminantProduct determinant(B& /*backend*/) const { return this->fronts().determinant(); }
  [[nodiscard]] MatrixFactors<T> factors(B& /*backend*/) const { return this->fronts().factors(); }
  [[nodiscard]] std::size_t bytes() const { return this->fronts().bytes(); }

 private:
  void analyze_matrix(const Csr<T>& A, const AnalysisRequest& request) override {
    LargeDiagonal diagonal = large_diagonal(magnitudes_of(A));
    OrderingOptions ordering = request.ordering;
    if (!diagonal.unmatched_columns.empty()) ordering.minimum_degree = {};
    this->fronts().analyze(A, std::move(diagonal), ordering, request.same_pattern);
  }
  void adapt_to_values(const Csr<T>& A) override {
    if (this->fronts().changes_kind_of_scaling()) this->forget_condition();
    this->fronts().adapt_to_values(A);
  }

  Outcome factor_values(const Context& context) override {
    PivotedFactorization<T>& fronts = this->fronts().fronts();
    const LargeDiagonal& diagonal = this->fronts().diagonal();
    if (std::optional<Outcome> lack = fronts.lack_of_memory("the factorisation")) return *lack;
    Outcome outcome = this->factor_and_assess(context, fronts, scaling());
    if (outcome.status == Status::cancelled) return outcome;
    this->decide_and_complete(
        context, fronts, scaling(), this->are_trustworthy(context, fronts), diagonal.structural_rank,
        [&](Outcome& completed) { add_front_statistics(completed, diagonal); }, outcome);
    return outcome;
  }

  [[nodiscard]] const Scaling& scaling() const override { return this->fronts().scaling(); }
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
