// SPDX-License-Identifier: BSD-3-Clause
// Schur complements of sparse matrices on the host: a multifrontal factorisation whose last front is left.
#include "backend/host/host.hpp"
#include "domain_decomposition/schur/analysis.hpp"
#include "domain_decomposition/schur/implementation.hpp"
#include "domain_decomposition/schur/interior.hpp"
#include "domain_decomposition/schur/outcomes.hpp"
#include "linalg/condition.hpp"
#include "sparse_direct/multifrontal/pivoted_factorization.hpp"
#include "sparse_direct/multifrontal/singular.hpp"
#include "support/scalar.hpp"
#include "support/stopwatch.hpp"

#include <echelon/methods/sparse_ldlt.hpp>
#include <echelon/methods/sparse_lu.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace echelon::schur {

namespace {

using namespace sparse_direct;

template <class T>
class SparseElimination final : public InteriorElimination<T> {
 public:
  SparseElimination(const Csr<T>& A, const InterfacePartition& partition, const Device& device,
                    const SchurOptions& options)
      : A_(A), partition_(partition), device_(device), options_(options) {}

  Outcome eliminate(SchurFactorization factorization) override {
    const double threshold =
        factorization == SchurFactorization::lu ? SparseLuOptions{}.threshold : SparseLdltOptions{}.threshold;
    factorization_.emplace(device_, threshold);
    const Stopwatch watch;
    Outcome outcome = analyze(factorization);
    if (!outcome.ok()) return outcome;
    analysis_seconds_ = watch.seconds();
    if (std::optional<Outcome> lack = factorization_->lack_of_memory("the factorisation of the interior"))
      return *lack;
    outcome = kind_ == FactorKind::cholesky ? factor_cholesky() : factor_with_pivoting();
    if (!outcome.ok()) return outcome;
    take_complement();
    outcome.rank = interior();
    outcome.statistics = statistics();
    return outcome;
  }

  [[nodiscard]] const Dense<T>& complement() const override { return complement_; }

  [[nodiscard]] std::optional<Inertia> inertia() const override {
    if (kind_ == FactorKind::cholesky) return Inertia{interior(), 0, 0};
    const bool has_inertia = kind_ == (is_complex<T> ? FactorKind::hermitian_ldlt : FactorKind::ldlt);
    if (!has_inertia || facts().perturbed_pivots > 0) return std::nullopt;
    return Inertia{facts().positive, facts().negative, interior() - facts().rank};
  }

  [[nodiscard]] std::size_t bytes() const override {
    return (factorization_ ? factorization_->bytes() : 0) + complement_.bytes() +
           (scaling_.rows.size() + scaling_.columns.size()) * sizeof(double);
  }

  void reduce(Equations equations, DenseView<const T> B, DenseView<T> G) const override {
    const Order order = order_of(equations);
    for_columns(B.columns(), [&](std::int64_t begin, int columns, Vectors& v) {
      take_right_hand_sides(order, B, begin, columns, v);
      factorization_->substitute(order.transposed, columns, v.x.data(), v.scratch.data(),
                                 SubstitutionHalves::forward);
      for (std::int64_t i = 0; i < border(); ++i) {
        const double scale = factor_at(*order.equation_scale, partition_.interface[i]);
        for (int c = 0; c < columns; ++c)
          G(i, begin + c) = static_cast<T>(static_cast<Dot<T>>(v.row(interior() + i, columns)[c]) / scale);
      }
    });
  }

  void expand(Equations equations, DenseView<const T> X_B, DenseView<const T> B,
              DenseView<T> X) const override {
    const Order order = order_of(equations);
    for_columns(X.columns(), [&](std::int64_t begin, int columns, Vectors& v) {
      if (B.data() != nullptr) {
        take_right_hand_sides(order, B, begin, columns, v);
        factorization_->substitute(order.transposed, columns, v.x.data(), v.scratch.data(),
                                   SubstitutionHalves::forward);
      } else {
        std::fill_n(v.x.data(), partition_.size() * columns, T{0});
      }
      for (std::int64_t i = 0; i < border(); ++i) {
        const double scale = factor_at(*order.unknown_scale, partition_.interface[i]);
        for (int c = 0; c < columns; ++c)
          v.row(interior() + i, columns)[c] = static_cast<T>(static_cast<Dot<T>>(X_B(i, begin + c)) / scale);
      }
      factorization_->substitute(order.transposed, columns, v.x.data(), v.scratch.data(),
                                 SubstitutionHalves::backward);
      for (std::int64_t k = 0; k < interior(); ++k) {
        const std::int32_t j = (*order.unknowns)[static_cast<std::size_t>(k)];
        const double scale = factor_at(*order.unknown_scale, j);
        for (int c = 0; c < columns; ++c)
          X(j, begin + c) = static_cast<T>(static_cast<Dot<T>>(v.row(k, columns)[c]) * scale);
      }
      for (std::int64_t i = 0; i < border(); ++i) {
        for (int c = 0; c < columns; ++c) X(partition_.interface[i], begin + c) = X_B(i, begin + c);
      }
    });
  }

 private:
  /// Right-hand sides of a substitution, row by row in the order of the pivots.
  struct Vectors {
    std::vector<T> x, scratch;
    [[nodiscard]] T* row(std::int64_t k, int columns) { return x.data() + k * columns; }
  };

  /// Orders of the pivots and scales by equations and by unknowns: rows and columns of A, or for A^T the
  /// reverse.
  struct Order {
    bool transposed;
    const std::vector<std::int32_t>* equations;
    const std::vector<std::int32_t>* unknowns;
    const std::vector<double>* equation_scale;
    const std::vector<double>* unknown_scale;
  };
  [[nodiscard]] Order order_of(Equations equations) const {
    const bool is_transposed = equations == Equations::transposed;
    if (!is_transposed || kind_ != FactorKind::lu)
      return {is_transposed && is_hermitian(kind_), &factorization_->row_order(),
              &factorization_->column_order(), &scaling_.rows, &scaling_.columns};
    return {true, &factorization_->column_order(), &factorization_->row_order(), &scaling_.columns,
            &scaling_.rows};
  }

  [[nodiscard]] std::int64_t interior() const { return std::ssize(partition_.interior); }
  [[nodiscard]] std::int64_t border() const { return std::ssize(partition_.interface); }
  [[nodiscard]] int threads() const { return device_.threads(); }
  [[nodiscard]] const FactorFacts& facts() const { return factorization_->facts(); }

  /// Calls f(first column, columns, vectors) for groups of the k columns that are substituted together.
  template <class F>
  void for_columns(std::int64_t k, const F& f) const {
    Vectors v;
    for (std::int64_t begin = 0; begin < k; begin += columns_at_once) {
      const auto columns = static_cast<int>(std::min<std::int64_t>(columns_at_once, k - begin));
      v.x.resize(static_cast<std::size_t>(partition_.size() * columns));
      v.scratch.resize(static_cast<std::size_t>(factorization_->scratch_size(columns)));
      f(begin, columns, v);
    }
  }

  void take_right_hand_sides(const Order& order, const DenseView<const T>& B, std::int64_t begin, int columns,
                             Vectors& v) const {
    for (std::int64_t k = 0; k < partition_.size(); ++k) {
      const std::int32_t i = (*order.equations)[static_cast<std::size_t>(k)];
      const double scale = factor_at(*order.equation_scale, i);
      for (int c = 0; c < columns; ++c)
        v.row(k, columns)[c] = static_cast<T>(static_cast<Dot<T>>(B(i, begin + c)) * scale);
    }
  }

  Outcome analyze(SchurFactorization factorization) {
    Analysis analysis =
        analyze_interior(A_, partition_, factorization, options_.ordering, {.threads = threads()});
    if (!analysis.outcome.ok()) return std::move(analysis.outcome);
    kind_ = analysis.kind;
    scaling_ = std::move(analysis.scaling);
    factorization_->analyze(std::move(analysis.symbolic), kind_, A_, analysis.row_permutation);
    return {};
  }

  Outcome factor_cholesky() {
    const FactorResult result = factorization_->partial({A_.values().data()}, {}, options_.cancel, border_);
    if (result.end == FactorEnd::cancelled) return cancelled_factorization();
    if (result.end == FactorEnd::no_pivot)
      return interior_not_positive(result.failed->column, short_number(*result.failed->value));
    return options_.condition ? assess_interior<T>(reciprocal_condition()) : Outcome{};
  }

  /// Factors with every pivot that is not exactly zero at first. Where that fails, or replaces pivots, a
  /// second factorisation delays columns at the level of rounding errors, which decide the rank.
  Outcome factor_with_pivoting() {
    const auto is_cancelled = [&](double smallest) {
      return !factorization_->partial_scaled(A_, scaling_, smallest, options_.cancel, border_);
    };
    if (is_cancelled(0)) return cancelled_factorization();
    Outcome outcome;
    const auto is_complete = [&] { return facts().rank == interior() && facts().perturbed_pivots == 0; };
    if (is_complete() && options_.condition) outcome = assess_interior<T>(reciprocal_condition());
    if (outcome.ok() && is_complete()) return outcome;
    if (is_cancelled(null_pivot_tolerance<T>(partition_.size()))) return cancelled_factorization();
    if (facts().rank < interior())
      return interior_rank_deficient(partition_, facts().rank, columns_without_pivot());
    if (outcome.ok() && options_.condition) outcome = assess_interior<T>(reciprocal_condition());
    return outcome;
  }

  [[nodiscard]] std::vector<std::int32_t> columns_without_pivot() const {
    return {factorization_->column_order().begin() + facts().rank,
            factorization_->column_order().begin() + interior()};
  }

  /// Reciprocal condition of A_II as it was scaled for the factorisation. For Cholesky factors, which are not
  /// of a scaled matrix, it is that of A_II scaled to a diagonal of ones.
  [[nodiscard]] double reciprocal_condition() const {
    const std::vector<double> unit =
        kind_ == FactorKind::cholesky ? unit_diagonal_scale(A_) : std::vector<double>{};
    const std::vector<double>& rows = unit.empty() ? scaling_.rows : unit;
    const std::vector<double>& columns = unit.empty() ? scaling_.columns : unit;
    std::vector<T> x(static_cast<std::size_t>(partition_.size()));
    std::vector<T> scratch(static_cast<std::size_t>(factorization_->scratch_size(1)));
    const auto divide = [&](T* v) {
      for (std::int64_t k = 0; k < interior() && !unit.empty(); ++k)
        v[k] = static_cast<T>(static_cast<Dot<T>>(v[k]) / factor_at(unit, factorization_->row_order()[k]));
    };
    Host backend(Device::serial());
    return estimate_reciprocal_condition<T>(
        backend, interior(), interior_norm_one(A_, partition_, rows, columns), [&](bool transposed, T* v) {
          divide(v);
          std::copy_n(v, interior(), x.data());
          std::fill(x.begin() + interior(), x.end(), T{0});
          factorization_->substitute(transposed, 1, x.data(), scratch.data());
          std::copy_n(x.data(), interior(), v);
          divide(v);
        });
  }

  /// Moves the last front to S: without scaling, and with both triangles.
  void take_complement() {
    const std::int64_t n = border();
    complement_ = Dense<T>(n, n, n > 0 ? std::move(border_) : Array<T>(Device::serial(), 0));
    if (!scaling_.rows.empty()) remove_scaling(partition_, scaling_, complement_);
    if (kind_ != FactorKind::lu) mirror_lower_triangle(complement_, is_hermitian(kind_));
  }

  [[nodiscard]] std::vector<Statistic> statistics() const {
    std::vector<Statistic> result = factorization_->statistics();
    result.push_back({"analysis_seconds", analysis_seconds_});
    if (kind_ == FactorKind::cholesky) return result;
    result.push_back({"delayed_pivots", facts().delayed_pivots});
    if (has_block_diagonal(kind_)) result.push_back({"two_by_two_pivots", facts().two_by_two_pivots});
    return result;
  }

  const Csr<T>& A_;
  const InterfacePartition& partition_;
  Device device_;
  const SchurOptions& options_;
  FactorKind kind_ = FactorKind::cholesky;
  double analysis_seconds_ = 0;
  Scaling scaling_;  // by rows and columns of A; empty: 1
  std::optional<PivotedFactorization<T>> factorization_;
  Array<T> border_;  // S in the scaled matrix, until it becomes the complement
  Dense<T> complement_;
};

}  // namespace

template <class Target, class T>
std::unique_ptr<InteriorElimination<T>> sparse_elimination_on(const Csr<T>& A,
                                                              const InterfacePartition& partition,
                                                              const Device& device,
                                                              const SchurOptions& options) {
  return std::make_unique<SparseElimination<T>>(A, partition, device, options);
}

#define ECHELON_INSTANTIATE(T)                                                        \
  template std::unique_ptr<InteriorElimination<T>> sparse_elimination_on<HostTarget>( \
      const Csr<T>&, const InterfacePartition&, const Device&, const SchurOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::schur
