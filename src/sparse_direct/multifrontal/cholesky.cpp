// SPDX-License-Identifier: BSD-3-Clause
// Sparse Cholesky factorisation on the host.
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"
#include "sparse_direct/multifrontal/analysis.hpp"
#include "sparse_direct/multifrontal/factorization.hpp"
#include "sparse_direct/multifrontal/front_factorization.hpp"
#include "sparse_direct/multifrontal/fronts/pivot_sizes.hpp"
#include "sparse_direct/multifrontal/fronts/unpack.hpp"
#include "sparse_direct/multifrontal/outcomes.hpp"
#include "sparse_direct/multifrontal/sparse_factorization.hpp"

#include <echelon/methods/sparse_cholesky.hpp>

#include <support/scalar_list.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace echelon {

namespace {

using namespace sparse_direct;

template <class B, class T>
class SparseCholeskyFactorization final
    : public FrontFactorization<SparseFactorization<B, T>, MultifrontalFactorization<T>> {
  using Base = FrontFactorization<SparseFactorization<B, T>, MultifrontalFactorization<T>>;
  using Context = typename Base::Context;

 public:
  SparseCholeskyFactorization(const Device& device, const SparseCholeskyOptions& options)
      : Base(device, SparseOptions::of(options)) {}

  [[nodiscard]] DeterminantProduct determinant(B& /*backend*/) const {
    return pivot_product(this->fronts().factors());
  }
  [[nodiscard]] Inertia inertia() const { return inertia_of(this->fronts().factors()); }
  [[nodiscard]] MatrixFactors<T> factors(B& /*backend*/) const { return unpack(this->fronts().factors()); }
  [[nodiscard]] std::size_t bytes() const { return this->fronts().bytes(); }

 private:
  void analyze_matrix(const Csr<T>& A, const AnalysisRequest& request) override {
    AnalysisOptions analysis;
    analysis.ordering = request.ordering;
    this->fronts().analyze(analyze_symmetric(A, analysis), FactorKind::cholesky, A);
  }

  Outcome factor_values(const Context& context) override {
    const Csr<T>& A = *context.A.csr();
    if (Outcome symmetry = require_cholesky_symmetry(A, this->device()); !symmetry.ok()) return symmetry;
    if (std::optional<Outcome> lack = this->fronts().lack_of_memory("the factorisation")) return *lack;
    const FactorResult result = this->fronts().factor({A.values().data()}, {}, context.control);
    if (result.end == FactorEnd::cancelled) return cancelled_factorization();
    if (result.end == FactorEnd::no_pivot)
      return not_positive(result.failed->column, short_number(*result.failed->value));
    Outcome outcome;
    if (this->options().condition) outcome = assess_condition<T>(condition_of_unit_diagonal(context));
    outcome.rank = A.rows();
    outcome.statistics = this->fronts().statistics();
    return outcome;
  }

  /// 1 / condition number of A scaled to a diagonal near 1.
  [[nodiscard]] double condition_of_unit_diagonal(const Context& context) {
    const Csr<T>& A = *context.A.csr();
    const std::vector<double> scale = scale_to_unit_diagonal(A);
    const PivotSizes pivots = pivot_sizes(this->fronts().factors(), [&](std::int64_t k) {
      const double s = scale[this->fronts().column_order()[static_cast<std::size_t>(k)]];
      return s * s;
    });
    return this->reciprocal_condition(context, A, {scale, scale}, pivots.ratio());
  }

  /// Powers of two near 1 / sqrt(a_ii).
  static std::vector<double> scale_to_unit_diagonal(const Csr<T>& A) {
    std::vector<double> scale(static_cast<std::size_t>(A.rows()), 1);
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        if (A.column_indices()[k] == i) {
          scale[static_cast<std::size_t>(i)] = std::ldexp(1.0, -std::ilogb(real(A.values()[k])) / 2);
        }
      }
    }
    return scale;
  }

  [[nodiscard]] const Scaling& scaling() const override { return no_scaling_; }

  Scaling no_scaling_;
};

}  // namespace

template <>
struct MethodWith<SparseCholeskyOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, SparseCholeskyFactorization<B, T>>;
};

#define ECHELON_INSTANTIATE(T)                                                       \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<HostTarget>( \
      const Device&, const SparseCholeskyOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
