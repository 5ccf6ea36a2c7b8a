// SPDX-License-Identifier: BSD-3-Clause
// Band matrices in LAPACK's layout: factorisation and solution.
#include "sparse_direct/banded/operations.hpp"

#include "backend/target.hpp"
#include "sparse_direct/banded/factorization.hpp"
#include "sparse_direct/banded/tridiagonal.hpp"

#include <algorithm>
#include <limits>
#include <memory>

namespace echelon {

namespace {

using namespace banded;

constexpr double most_finite = std::numeric_limits<double>::max();
template <class T>
constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();

/// Outcome of each matrix, from the facts about its factors.
struct OutcomeOfMatrix {
  const BandFacts* facts;
  BatchOutcome* outcomes;
  ECHELON_ANYWHERE void operator()(std::int64_t matrix) const {
    const BandFacts& own = facts[matrix];
    BatchOutcome outcome;
    if (!(own.largest <= most_finite)) {
      outcome.status = Status::not_a_number;
    } else if (own.zero_column.value != FirstIndex::none) {
      outcome = {Status::singular, static_cast<std::int32_t>(own.zero_column.value)};
    }
    outcomes[matrix] = outcome;
  }
};

/// Fills a part of a column of X with NaN where the matrix has no factors.
template <class T>
struct PoisonColumns {
  static constexpr std::int64_t part = 4096;

  const BandFacts* facts;
  std::int64_t n;
  std::int64_t parts;  ///< of a column
  std::int64_t columns;
  T* x;
  std::int64_t leading;
  std::int64_t stride;
  ECHELON_ANYWHERE void operator()(std::int64_t task) const {
    const std::int64_t matrix = task / (parts * columns);
    const bool factored = facts[matrix].zero_column.value == FirstIndex::none;
    if (factored && facts[matrix].largest <= most_finite) return;
    const std::int64_t column = task / parts % columns;
    const std::int64_t begin = task % parts * part;
    T* own = x + matrix * stride + column * leading;
    for (std::int64_t i = begin; i < n && i < begin + part; ++i) own[i] = not_a_number<T>;
  }
};

/// Shape of the matrices; diagonals beyond the corners of the matrix do not count.
template <class T>
BandShape shape_of(const BandBatch<const T>& A) {
  const std::int64_t most = std::max<std::int64_t>(A.n() - 1, 0);
  return {A.n(), std::min(A.lower(), most), std::min(A.upper(), most), A.count()};
}

template <class T>
BandMatrices<T> matrices_of(const BandBatch<const T>& A) {
  const BandShape shape = shape_of(A);
  return {{A.data() + A.upper(), 1, A.leading() - 1, shape.lower, shape.upper}, A.stride()};
}

template <class Backend, class T>
class BandFactorsOn final : public BandFactors<T> {
  static constexpr std::int64_t columns_at_once = 8;

 public:
  explicit BandFactorsOn(const Device& device) : backend_(device), factorization_(device) {}

  void factor(const BandBatch<const T>& A, BatchOutcome* outcomes) override {
    current_ = nullptr;
    if constexpr (has_tridiagonal_kernels<Backend>) {
      if (is_tridiagonal(A)) {
        if (tridiagonal_ == nullptr) tridiagonal_ = make_tridiagonal_factors<T>(backend_.device());
        current_ = tridiagonal_.get();
        return current_->factor(A, outcomes);
      }
    }
    const BandShape shape = shape_of(A);
    if (shape != factorization_.shape()) workspace_ = SubstitutionWorkspace<T>();
    factorization_.prepare(shape, 0);
    factorization_.factor(backend_, matrices_of(A));
    backend_.for_each(A.count(), OutcomeOfMatrix{factorization_.facts(), outcomes});
  }

  void solve(const DenseBatch<T>& B) override {
    if (current_ != nullptr) return current_->solve(B);
    const std::int64_t at_once = std::min(columns_at_once, B.columns());
    if (at_once == 0 || n() == 0) return;
    if (workspace_.columns < at_once) workspace_ = factorization_.make_workspace(at_once, false);
    RhsBatch<T> rhs;
    rhs.b = rhs.x = B.data();
    rhs.b_leading = rhs.x_leading = B.leading();
    rhs.b_stride = rhs.x_stride = B.stride();
    rhs.columns = B.columns();
    factorization_.solve(backend_, workspace_, rhs);
    const std::int64_t parts = (n() + PoisonColumns<T>::part - 1) / PoisonColumns<T>::part;
    backend_.for_each(
        count() * B.columns() * parts,
        PoisonColumns<T>{factorization_.facts(), n(), parts, B.columns(), B.data(), B.leading(), B.stride()});
  }

  [[nodiscard]] std::int64_t n() const override {
    return current_ != nullptr ? current_->n() : factorization_.shape().n;
  }
  [[nodiscard]] std::int64_t count() const override {
    return current_ != nullptr ? current_->count() : factorization_.shape().count;
  }
  [[nodiscard]] std::size_t bytes() const override {
    return factorization_.bytes() + workspace_.bytes() +
           (tridiagonal_ == nullptr ? 0 : tridiagonal_->bytes());
  }

 private:
  Backend backend_;
  BandFactorizationOn<Backend, T> factorization_;
  SubstitutionWorkspace<T> workspace_;
  std::unique_ptr<BandFactors<T>> tridiagonal_;  // of the last tridiagonal matrix that had kernels of its own
  BandFactors<T>* current_ = nullptr;            // those factors, if they are the latest
};

/// Number of matrices whose factors take about `budget` bytes.
template <class T>
std::int64_t matrices_at_once(const BandBatch<const T>& A) {
  constexpr std::size_t budget = std::size_t{1} << 30;
  const BandShape shape = shape_of(A);
  const BandPlan plan =
      make_band_plan(shape.n, shape.lower, shape.upper, partition_rule(A.device(), shape, 0));
  const std::size_t bytes = std::max<std::size_t>(1, factor_bytes(plan, sizeof(T)));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(budget / bytes), 1, A.count());
}

}  // namespace

template <class Target, class T>
std::unique_ptr<BandFactors<T>> make_band_factors(const Device& device) {
  return on_backend(device, [&]<class B>() -> std::unique_ptr<BandFactors<T>> {
    return std::make_unique<BandFactorsOn<B, T>>(device);
  });
}

template <class Target, class T>
void solve_bands(const BandBatch<const T>& A, const DenseBatch<T>& B, BatchOutcome* outcomes) {
  on_backend(A.device(), [&]<class Backend>() {
    if constexpr (has_tridiagonal_kernels<Backend>) {
      if (is_tridiagonal(A)) return solve_tridiagonal(A, B, outcomes);
    }
    BandFactorsOn<Backend, T> factors(A.device());
    const std::int64_t at_once = matrices_at_once(A);
    for (std::int64_t first = 0; first < A.count(); first += at_once) {
      const std::int64_t count = std::min(at_once, A.count() - first);
      factors.factor({A.data() + first * A.stride(), A.n(), A.lower(), A.upper(), count, A.leading(),
                      A.stride(), A.device()},
                     outcomes + first);
      factors.solve(
          {B.data() + first * B.stride(), B.rows(), B.columns(), count, B.leading(), B.stride(), B.device()});
    }
  });
}

template std::unique_ptr<BandFactors<float>> make_band_factors<ThisTarget>(const Device&);
template std::unique_ptr<BandFactors<double>> make_band_factors<ThisTarget>(const Device&);
template void solve_bands<ThisTarget>(const BandBatch<const float>&, const DenseBatch<float>&, BatchOutcome*);
template void solve_bands<ThisTarget>(const BandBatch<const double>&, const DenseBatch<double>&,
                                      BatchOutcome*);

}  // namespace echelon
