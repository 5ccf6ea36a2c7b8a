// SPDX-License-Identifier: BSD-3-Clause
#include "backend/openmp/openmp.hpp"
#include "backend/serial/serial.hpp"
#include "dense/cholesky/symmetric_factorization.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/ldlt.hpp>

#include <stop_token>

namespace echelon {

namespace {

template <class B, class T>
class DenseLdlt final : public HostFactorization<B, T> {
 public:
  DenseLdlt(const Device& device, const LdltOptions& options)
      : HostFactorization<B, T>(device, options.equilibrate, options.refine) {}

  [[nodiscard]] std::size_t bytes() const override {
    return HostFactorization<B, T>::bytes() + pivots_.size() * sizeof(int);
  }

 private:
  void clear() override { pivots_.clear(); }

  /// Scales the largest magnitudes of the rows to about 1.
  Outcome equilibrate(DenseView<T> A, std::vector<T>& rows, std::vector<T>& columns) override {
    const std::vector<double> largest = dense_symmetric::largest_of_rows<T>(A);
    const auto zero = std::find(largest.begin(), largest.end(), 0.0);
    if (zero != largest.end()) return zero_line("row", zero - largest.begin());
    dense_symmetric::equilibrate_symmetrically(A, rows);
    columns = rows;
    return {};
  }

  Outcome factor(int n) override {
    T* const a = this->factors().data();
    if (const auto place = dense_symmetric::find_asymmetry<T>(this->factors().view())) {
      return not_symmetric(place->first, place->second, Status::breakdown);
    }
    pivots_.assign(static_cast<std::size_t>(n), 0);
    const T norm = lapack::norm_one(n, a);
    const T largest = lapack::norm_max(n, a);
    int zero = 0;
    if (!factor_blocks(n, a, zero)) return cancelled_factorization();
    if (zero > 0) return zero_pivot(zero - 1);
    Outcome outcome = assess_condition<T>(this->reciprocal_condition(norm));
    report_pivots(largest, outcome);
    return outcome;
  }

  /// Factors like LAPACK's sytrf_rook: blocks of columns are factored and applied to the rest of the lower
  /// triangle; the last block is factored without further division. `zero` is the first zero pivot, from 1,
  /// if there is one. Returns false when cancelled.
  bool factor_blocks(int n, T* a, int& zero) {
    constexpr int block = 64;
    std::vector<T> work(static_cast<std::size_t>(n) * block);
    for (int k = 0; k < n;) {
      if (this->cancel().stop_requested()) return false;
      T* const corner = a + k + static_cast<std::ptrdiff_t>(k) * n;
      const auto [columns, info] =
          n - k > block ? lapack::lasyf_rook(n - k, block, corner, n, pivots_.data() + k, work.data())
                        : lapack::sytf2_rook(n - k, corner, n, pivots_.data() + k);
      if (info > 0 && zero == 0) zero = k + info;
      for (int i = k; i < k + columns; ++i)
        pivots_[static_cast<std::size_t>(i)] += pivots_[static_cast<std::size_t>(i)] > 0 ? k : -k;
      k += columns;
    }
    return true;
  }

  /// Counts eigenvalues by sign: by Sylvester's law A has as many of each as D, and a block of order two has
  /// one of each.
  void report_pivots(T largest_of_matrix, Outcome& outcome) const {
    std::int64_t negative = 0;
    std::int64_t blocks = 0;
    Largest largest;
    const auto n = static_cast<std::int64_t>(pivots_.size());
    for (std::int64_t k = 0; k < n; ++k) {
      const bool pair = pivots_[static_cast<std::size_t>(k)] < 0;
      const T pivot = this->factors()(k, k);
      largest = combine(largest, {std::fabs(static_cast<double>(pair ? this->factors()(k + 1, k) : pivot))});
      blocks += pair ? 1 : 0;
      negative += pair || pivot < 0 ? 1 : 0;
      if (pair) ++k;
    }
    outcome.statistics = {{"positive_eigenvalues", n - negative},
                          {"negative_eigenvalues", negative},
                          {"two_by_two_pivots", blocks},
                          {"pivot_growth", largest.value / static_cast<double>(largest_of_matrix)}};
  }

  void substitute_factors(bool /*transposed*/, DenseView<T> X) const override {
    lapack::sytrs_rook(static_cast<int>(X.rows()), static_cast<int>(X.columns()), this->factors().data(),
                       pivots_.data(), X.data(), blas::dimension(X.leading()));
  }

  std::vector<int> pivots_;  // as LAPACK's: from 1; negative for both rows of a block of order two
};

}  // namespace

template <>
struct MethodWith<LdltOptions> {
  template <class B, class T>
  using Type = DenseLdlt<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(const Device&,
                                                                                      const LdltOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(const Device&,
                                                                                       const LdltOptions&);

}  // namespace echelon
