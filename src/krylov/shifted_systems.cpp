// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "matrix/shape.hpp"
#include "support/scalar.hpp"

#include <echelon/error.hpp>
#include <echelon/linalg.hpp>
#include <echelon/linalg/blas.hpp>
#include <echelon/matrix/structure.hpp>
#include <echelon/problems/shifted_systems.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>

namespace echelon {

namespace krylov {

namespace {

/// Steps between two looks at the residuals.
constexpr std::int64_t check_every = 5;

/// Upper Hessenberg matrix, of which `upper` diagonals above the main one are stored.
template <class T>
class Hessenberg {
 public:
  Hessenberg(std::int64_t most, std::int64_t upper)
      : upper_(std::min(upper, most)),
        width_(upper_ + 3),
        elements_(static_cast<std::size_t>(most * width_)) {}
  /// Element (i, j) with i <= j + 1.
  T& operator()(std::int64_t i, std::int64_t j) { return elements_[place(i, j)]; }
  T operator()(std::int64_t i, std::int64_t j) const { return elements_[place(i, j)]; }
  void clear() { std::fill(elements_.begin(), elements_.end(), T{0}); }
  [[nodiscard]] std::int64_t upper() const { return upper_; }

  /// Solves (H + shift I) y = beta e_1 of order m by Gaussian elimination with row exchanges. False if a
  /// pivot vanishes.
  bool solve(std::int64_t m, T shift, T beta, std::vector<T>& y) const {
    Hessenberg factors(m, upper_ + 1);  // a row that is exchanged reaches one column further
    for (std::int64_t j = 0; j < m; ++j) {
      for (std::int64_t i = std::max<std::int64_t>(j - upper_, 0); i <= std::min(j + 1, m - 1); ++i)
        factors(i, j) = (*this)(i, j) + (i == j ? shift : T{0});
    }
    y.assign(static_cast<std::size_t>(m), T{0});
    y[0] = beta;
    for (std::int64_t k = 0; k + 1 < m; ++k) factors.eliminate(k, m, y);
    for (std::int64_t k = m; k-- > 0;) {
      T& element = y[static_cast<std::size_t>(k)];
      for (std::int64_t j = k + 1; j <= std::min(k + factors.upper_, m - 1); ++j)
        element -= factors(k, j) * y[static_cast<std::size_t>(j)];
      if (factors(k, k) == T{0}) return false;
      element /= factors(k, k);
    }
    return true;
  }

 private:
  [[nodiscard]] std::size_t place(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(j * width_ + (i - j + upper_));
  }
  void eliminate(std::int64_t k, std::int64_t m, std::vector<T>& y) {
    const std::int64_t last = std::min(k + upper_, m - 1);
    const auto at = static_cast<std::size_t>(k);
    if (magnitude((*this)(k + 1, k)) > magnitude((*this)(k, k))) {
      for (std::int64_t j = k; j <= last; ++j) std::swap((*this)(k, j), (*this)(k + 1, j));
      std::swap(y[at], y[at + 1]);
    }
    if ((*this)(k, k) == T{0}) return;
    const T factor = (*this)(k + 1, k) / (*this)(k, k);
    for (std::int64_t j = k + 1; j <= last; ++j) (*this)(k + 1, j) -= factor * (*this)(k, j);
    y[at + 1] -= factor * y[at];
  }

  std::int64_t upper_;
  std::int64_t width_;
  std::vector<T> elements_;
};

/// Y = A X for a matrix or an operator.
template <class T>
void apply(const MatrixRef<T>& A, DenseView<const T> X, DenseView<T> Y) {
  if (A.is_operator()) return A.linear_operator()->apply(X, Y);
  multiply<T>(T{1}, A, X, T{0}, Y);
}

/// One shift: its residual is `beta` times the first vector of the cycle.
template <class T>
struct Shift {
  T value;
  T beta;
  std::vector<T> y;  ///< coefficients of the correction in the basis
  bool running = true;
};

/// Cycles of FOM for several shifts.
template <class T>
class ShiftedFom {
 public:
  ShiftedFom(const MatrixRef<T>& A, std::span<const T> b, std::span<const T> shifts,
             const ShiftedOptions& options)
      : A_(A),
        options_(options),
        n_(A.rows()),
        most_(std::max<std::int64_t>(std::min(options.basis, n_), 1)),
        hermitian_(!A.is_operator() && analyze_structure(A).hermitian_values),
        H_(most_, hermitian_ ? 1 : most_),
        basis_(Device(), n_, most_ + 1),
        X_(Device(), n_, std::ssize(shifts)) {
    std::fill_n(X_.data(), n_ * X_.columns(), T{0});
    std::copy(b.begin(), b.end(), basis_.data());
    norm_ = norm2<T>(vector(0));
    for (const T shift : shifts) shifts_.push_back({shift, T{static_cast<Real<T>>(norm_)}, {}});
  }

  /// X and the number of products.
  std::pair<Dense<T>, std::int64_t> run() {
    if (norm_ > 0) scale(0, norm_);
    while (norm_ > 0 && is_running() && products_ < options_.max_products && cycle()) {
    }
    return {std::move(X_), products_};
  }

 private:
  [[nodiscard]] DenseView<T> vector(std::int64_t j) {
    return DenseView<T>(basis_.data() + j * n_, n_, 1, std::max<std::int64_t>(n_, 1), Device());
  }
  void scale(std::int64_t j, double divisor) {
    T* const v = basis_.data() + j * n_;
    for (std::int64_t i = 0; i < n_; ++i) v[i] /= static_cast<Real<T>>(divisor);
  }
  [[nodiscard]] bool is_running() const {
    return std::any_of(shifts_.begin(), shifts_.end(), [](const Shift<T>& shift) { return shift.running; });
  }

  /// Makes vector j + 1 and column j of H; the norm before scaling, zero if the basis is complete.
  double extend(std::int64_t j) {
    const DenseView<T> next = vector(j + 1);
    apply<T>(A_, vector(j), next);
    ++products_;
    const double before = norm2<T>(next);
    const std::int64_t first = hermitian_ ? std::max<std::int64_t>(j - 1, 0) : 0;
    for (int pass = 0; pass < (hermitian_ ? 1 : 2); ++pass) {
      for (std::int64_t i = first; i <= j; ++i) {
        const T part = static_cast<T>(dot<T>(vector(i), next));
        axpy<T>(-part, vector(i), next);
        H_(i, j) += part;
      }
    }
    const double norm = norm2<T>(next);
    constexpr double rounding = 4 * static_cast<double>(std::numeric_limits<Real<T>>::epsilon());
    if (!(norm > rounding * before)) return 0;
    scale(j + 1, norm);
    if (j + 1 < most_) H_(j + 1, j) = T{static_cast<Real<T>>(norm)};
    return norm;
  }

  /// Solves for the running shifts with m vectors, and stops those whose residual is small; `next` is the
  /// norm of the vector after them.
  void look(std::int64_t m, double next) {
    for (Shift<T>& shift : shifts_) {
      if (!shift.running) continue;
      if (!H_.solve(m, shift.value, shift.beta, shift.y)) {
        shift.y.clear();
        continue;
      }
      shift.running = next * magnitude(shift.y.back()) > 0.5 * options_.rtol * norm_;
    }
  }

  /// One cycle; false if no more can follow.
  bool cycle() {
    H_.clear();
    for (Shift<T>& shift : shifts_) shift.y.clear();
    std::int64_t m = 0;
    double next = 1;
    while (m < most_ && next > 0 && is_running() && products_ < options_.max_products) {
      next = extend(m++);
      if (m % check_every == 0 || m == most_ || next == 0 || products_ == options_.max_products)
        look(m, next);
    }
    add_corrections(m);
    for (Shift<T>& shift : shifts_) {
      if (!shift.running) continue;
      shift.running = std::ssize(shift.y) == m;  // not where the projected matrix is singular
      if (shift.running) shift.beta = -static_cast<Real<T>>(next) * shift.y.back();
    }
    const DenseView<T> last = vector(m);
    std::copy_n(last.data(), n_, basis_.data());
    return next > 0;
  }

  /// X += V Y for the corrections of this cycle.
  void add_corrections(std::int64_t m) {
    Dense<T> Y(Device(), m, X_.columns());
    std::fill_n(Y.data(), m * X_.columns(), T{0});
    for (std::size_t k = 0; k < shifts_.size(); ++k)
      std::copy(shifts_[k].y.begin(), shifts_[k].y.end(), Y.data() + static_cast<std::int64_t>(k) * m);
    const DenseView<const T> V(basis_.data(), n_, m, std::max<std::int64_t>(n_, 1), Device());
    multiply<T>(T{1}, MatrixRef<T>(V), Y, T{1}, X_);
  }

  MatrixRef<T> A_;
  ShiftedOptions options_;
  std::int64_t n_;
  std::int64_t most_;
  bool hermitian_;
  Hessenberg<T> H_;
  Dense<T> basis_;
  Dense<T> X_;
  double norm_ = 0;  // of b
  std::vector<Shift<T>> shifts_;
  std::int64_t products_ = 0;
};

/// ||b - (A + shift I) x|| / ||b|| of each shift.
template <class T>
std::vector<double> residuals_of(const MatrixRef<T>& A, std::span<const T> b, std::span<const T> shifts,
                                 const Dense<T>& X) {
  Dense<T> R(Device(), X.rows(), X.columns());
  apply<T>(A, X, R.view());
  std::vector<double> residuals;
  for (std::size_t k = 0; k < shifts.size(); ++k) {
    double squares = 0;
    double size = 0;
    for (std::int64_t i = 0; i < X.rows(); ++i) {
      const auto column = static_cast<std::int64_t>(k);
      const T element = b[static_cast<std::size_t>(i)];
      squares += squared_magnitude(element - R(i, column) - shifts[k] * X(i, column));
      size += squared_magnitude(element);
    }
    residuals.push_back(size > 0 ? std::sqrt(squares / size) : std::sqrt(squares));
  }
  return residuals;
}

}  // namespace

}  // namespace krylov

template <class T>
ShiftedSolution<T> solve_shifted(const MatrixRef<T>& A, std::span<const T> b, std::span<const T> shifts,
                                 const ShiftedOptions& options) {
  return at_api_boundary([&] {
    require_square(A.rows(), A.columns(), "a shifted system needs");
    if (std::ssize(b) != A.rows())
      throw DimensionMismatch(fmt::format("b has {} elements, and A has {} rows", b.size(), A.rows()));
    if (!(options.rtol > 0 && options.rtol <= 1))
      throw BadOption("rtol", fmt::format("rtol is {}, and 0 < rtol <= 1", options.rtol));
    if (options.basis < 1) throw BadOption("basis", fmt::format("basis is {}, at least 1", options.basis));
    ShiftedSolution<T> solution;
    std::tie(solution.X, solution.products) = krylov::ShiftedFom<T>(A, b, shifts, options).run();
    solution.relative_residuals = krylov::residuals_of(A, b, shifts, solution.X);
    for (const double residual : solution.relative_residuals) {
      const bool converged = residual <= options.rtol;
      const bool limited = solution.products >= options.max_products;
      solution.statuses.push_back(converged ? Status::converged
                                  : limited ? Status::max_iterations
                                            : Status::breakdown);
    }
    return solution;
  });
}

#define ECHELON_INSTANTIATE(T)                                                                           \
  template ShiftedSolution<T> solve_shifted(const MatrixRef<T>&, std::span<const T>, std::span<const T>, \
                                            const ShiftedOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
