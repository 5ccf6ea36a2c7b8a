// SPDX-License-Identifier: BSD-3-Clause
#include "backend/host/host.hpp"
#include "dense/cholesky/symmetric_factorization.hpp"
#include "dense/factorization/packed_factors.hpp"
#include "dense/factorization/zero_diagonal.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/hermitian.hpp"
#include "solver/instantiate.hpp"
#include "support/scalar.hpp"
#include "support/setup_control.hpp"

#include <echelon/error.hpp>
#include <echelon/methods/dense/ldlt.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// A = L D L^T for a symmetric A, L D L^H for a Hermitian one, scaled by powers of two. A real A in complex
/// numbers counts as Hermitian.
template <class B, class T>
class LdltFactorization {
 public:
  using Scope = blas::Threads;
  static constexpr bool calls_blas = true;

  LdltFactorization(const Device&, const LdltOptions& options) : equilibrate_(options.equilibrate) {}

  Outcome factor(const direct::FactorContext<B, T>& context) {
    pivots_.clear();
    zero_pivots_ = 0;
    factors_ = Dense<T>();  // releases the old factors before the new ones are allocated
    factors_ = to_dense(context.A);
    const int n = blas::dimension(factors_.rows());
    T* const a = factors_.data();
    const std::vector<double> rows = dense_symmetric::largest_of_rows<T>(factors_.view());
    if (const auto zero = std::find(rows.begin(), rows.end(), 0.0); zero != rows.end())
      return zero_line("row", zero - rows.begin());
    if (equilibrate_) equilibrate(context.scales);
    if (Outcome symmetry = find_symmetry(); !symmetry.ok()) return symmetry;
    pivots_.assign(static_cast<std::size_t>(n), 0);
    norm_ = lapack::norm_one(n, a);
    const Real<T> largest = lapack::norm_max(n, a);
    int zero = 0;
    if (!factor_blocks(n, a, zero, context.control)) return cancelled_factorization();
    Outcome outcome;
    if (zero > 0) {
      replace_zero_pivots(largest);
      outcome = lu::replaced_pivots_outcome(context.A, zero - 1, zero_pivots_);
    }
    outcome.statistics = pivot_statistics(largest);
    return outcome;
  }

  /// The transpose of a Hermitian A is its conjugate.
  void substitute(direct::Operation operation, B& /*backend*/, direct::NoSpace& /*space*/,
                  DenseView<T> X) const {
    const auto solve_with = [&](const auto& routine) {
      routine(static_cast<int>(X.rows()), static_cast<int>(X.columns()), factors_.data(), pivots_.data(),
              X.data(), blas::dimension(X.leading()));
    };
    if constexpr (is_complex<T>) {
      if (hermitian_) {
        const bool conjugated = operation == direct::Operation::transpose;
        if (conjugated) dense_symmetric::conjugate(X);
        solve_with([](auto... arguments) { lapack::hetrs_rook(arguments...); });
        if (conjugated) dense_symmetric::conjugate(X);
        return;
      }
    }
    solve_with([](auto... arguments) { lapack::sytrs_rook(arguments...); });
  }

  [[nodiscard]] DeterminantProduct determinant(B& /*backend*/) const {
    DeterminantProduct product;
    for_pivots([&](std::int64_t k, bool pair) {
      const T pivot = factors_(k, k);
      if (hermitian_) {
        pair ? multiply_by_pair(product, echelon::real(pivot), magnitude(factors_(k + 1, k)),
                                echelon::real(factors_(k + 1, k + 1)))
             : product.multiply(real(pivot));
      } else {
        pair ? multiply_by_pair(product, pivot, factors_(k + 1, k), factors_(k + 1, k + 1))
             : product.multiply(static_cast<Dot<T>>(pivot));
      }
    });
    return product;
  }
  [[nodiscard]] Inertia inertia() const {
    if (!has_inertia()) throw Error("a complex symmetric matrix has no inertia: a Hermitian one has");
    Inertia inertia;
    for_pivots([&](std::int64_t k, bool pair) {
      const bool negative = pair || real(factors_(k, k)) < 0;
      inertia.negative += negative ? 1 : 0;
      inertia.positive += pair || !negative ? 1 : 0;
    });
    inertia.positive -= zero_pivots_;
    inertia.zero = zero_pivots_;
    return inertia;
  }
  [[nodiscard]] MatrixFactors<T> factors(B& backend) const {
    const std::int64_t n = factors_.rows();
    MatrixFactors<T> result;
    result.form = is_complex<T> && hermitian_ ? FactorForm::hermitian_ldlt : FactorForm::ldlt;
    Dense<T> lower = copy_triangle(backend, factors_.view(), {.lower = true, .unit_diagonal = true});
    std::vector<std::int64_t>& order = result.row_permutation;
    order.resize(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    result.diagonal.resize(order.size());
    result.subdiagonal.assign(order.size(), T{0});
    // LAPACK leaves the rows of earlier columns where they were before an exchange.
    const auto exchange = [&](std::int64_t row, std::int64_t columns) {
      const std::int64_t other = std::abs(pivots_[static_cast<std::size_t>(row)]) - 1;
      if (other == row) return;
      for (std::int64_t j = 0; j < columns; ++j) std::swap(lower(row, j), lower(other, j));
      std::swap(order[static_cast<std::size_t>(row)], order[static_cast<std::size_t>(other)]);
    };
    for_pivots([&](std::int64_t k, bool pair) {
      exchange(k, k);
      result.diagonal[static_cast<std::size_t>(k)] = factors_(k, k);
      if (!pair) return;
      exchange(k + 1, k);
      result.diagonal[static_cast<std::size_t>(k + 1)] = factors_(k + 1, k + 1);
      result.subdiagonal[static_cast<std::size_t>(k)] = factors_(k + 1, k);
      lower(k + 1, k) = 0;
    });
    result.lower = std::move(lower);
    result.column_permutation = order;
    return result;
  }
  [[nodiscard]] double norm() const { return static_cast<double>(norm_); }
  [[nodiscard]] std::size_t bytes() const { return factors_.bytes() + pivots_.size() * sizeof(int); }

 private:
  /// Finds the kind of symmetry, or the place where A has none.
  Outcome find_symmetry() {
    const DenseView<const T> A = factors_.view();
    const auto asymmetry = dense_symmetric::find_asymmetry<T>(A);
    hermitian_ = !asymmetry;
    if (hermitian_) return {};
    if constexpr (is_complex<T>) {
      const MirrorComparison found = compare_with_mirror(MatrixRef<T>(A));
      return found.not_symmetric ? neither_symmetric_nor_hermitian(found, "lu") : Outcome();
    }
    return not_symmetric(asymmetry->first, asymmetry->second, Status::breakdown);
  }
  [[nodiscard]] bool has_inertia() const { return !is_complex<T> || hermitian_; }

  /// Scales the largest magnitudes of the rows to about 1.
  void equilibrate(Scales<T>& scales) {
    std::vector<T> factors;
    dense_symmetric::equilibrate_symmetrically(factors_.view(), factors);
    scales = dense_symmetric::symmetric_scales(factors);
  }

  /// Replaces pivots that are exactly zero, as are their columns of the Schur complement.
  void replace_zero_pivots(Real<T> largest) {
    for_pivots([&](std::int64_t k, bool pair) {
      if (pair || factors_(k, k) != T{0}) return;
      factors_(k, k) = lu::zero_pivot_replacement<T>(static_cast<double>(largest));
      ++zero_pivots_;
    });
  }

  /// Factors columns of the lower triangle of order n: a block of them, or all n of a small one.
  lapack::SymmetricStep factor_columns(int n, int block, T* corner, int leading, int* pivots, T* work) const {
    if constexpr (is_complex<T>) {
      if (hermitian_)
        return n > block ? lapack::lahef_rook(n, block, corner, leading, pivots, work)
                         : lapack::hetf2_rook(n, corner, leading, pivots);
    }
    return n > block ? lapack::lasyf_rook(n, block, corner, leading, pivots, work)
                     : lapack::sytf2_rook(n, corner, leading, pivots);
  }

  /// Factors like LAPACK's sytrf_rook: blocks of columns are factored and applied to the rest of the lower
  /// triangle; the last block is factored without further division. `zero` is the first zero pivot, from 1,
  /// if there is one. Returns false when cancelled.
  bool factor_blocks(int n, T* a, int& zero, const SetupControl& control) {
    constexpr int block = 64;
    constexpr int work_columns = is_complex<T> ? block + 1 : block;
    std::vector<T> work(static_cast<std::size_t>(n) * work_columns);
    for (int k = 0; k < n;) {
      if (control.stops_at(eliminated_share(k, n))) return false;
      T* const corner = a + k + static_cast<std::ptrdiff_t>(k) * n;
      const auto [columns, info] = factor_columns(n - k, block, corner, n, pivots_.data() + k, work.data());
      if (info > 0 && zero == 0) zero = k + info;
      for (int i = k; i < k + columns; ++i)
        pivots_[static_cast<std::size_t>(i)] += pivots_[static_cast<std::size_t>(i)] > 0 ? k : -k;
      k += columns;
    }
    return true;
  }

  /// Calls f(k, pair) for the pivots of D: element k, or the block of rows k and k + 1, which has an
  /// eigenvalue of each sign if D is real or Hermitian.
  template <class F>
  void for_pivots(const F& f) const {
    const auto n = static_cast<std::int64_t>(pivots_.size());
    for (std::int64_t k = 0; k < n; ++k) {
      const bool pair = pivots_[static_cast<std::size_t>(k)] < 0;
      f(k, pair);
      if (pair) ++k;
    }
  }

  [[nodiscard]] std::vector<Statistic> pivot_statistics(Real<T> largest_of_matrix) const {
    std::int64_t blocks = 0;
    Largest largest;
    for_pivots([&](std::int64_t k, bool pair) {
      const T element = pair ? factors_(k + 1, k) : factors_(k, k);
      largest = combine(largest, {magnitude(element)});
      blocks += pair ? 1 : 0;
    });
    std::vector<Statistic> statistics;
    if (has_inertia()) {
      const Inertia signs = inertia();
      statistics = {{"positive_eigenvalues", signs.positive}, {"negative_eigenvalues", signs.negative}};
    }
    statistics.push_back({"two_by_two_pivots", blocks});
    statistics.push_back({"pivot_growth", largest.value / static_cast<double>(largest_of_matrix)});
    return statistics;
  }

  bool equilibrate_;
  bool hermitian_ = true;  // or real
  Dense<T> factors_;
  Real<T> norm_ = 0;
  std::int64_t zero_pivots_ = 0;  // that were replaced
  std::vector<int> pivots_;       // as LAPACK's: from 1; negative for both rows of a block of order two
};

}  // namespace

template <>
struct MethodWith<LdltOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, LdltFactorization<B, T>>;
};

#define ECHELON_INSTANTIATE(T)                                                                     \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<HostTarget>(const Device&, \
                                                                                    const LdltOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
