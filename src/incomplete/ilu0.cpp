// SPDX-License-Identifier: BSD-3-Clause
#include "incomplete/level_schedule.hpp"
#include "solver/factor_status.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/ilu0.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace echelon {

namespace {

template <class B, class T>
class IncompleteLu final : public SolverImplementation<T> {
 public:
  IncompleteLu(const Device& device, const Ilu0Options& /*options*/) : SolverImplementation<T>(device) {}

  Outcome analyze(const MatrixRef<T>& A) override {
    if (!A.is_sparse()) return ilu0_without_pattern();
    const Csr<T>& csr = *A.csr();
    const std::int32_t* columns = csr.column_indices().data();
    diagonal_.resize(static_cast<std::size_t>(csr.rows()));
    for (std::int64_t i = 0; i < csr.rows(); ++i) {
      const std::int32_t* begin = columns + csr.row_offsets()[i];
      const std::int32_t* end = columns + csr.row_offsets()[i + 1];
      const std::int32_t* place = std::lower_bound(begin, end, i);
      if (place == end || *place != i) return ilu0_pivot(i, "is not stored");
      diagonal_[static_cast<std::size_t>(i)] = place - columns;
    }
    lower_ = Levels();
    upper_ = Levels();
    if (this->device().threads() > 1) {
      lower_ = Levels::of_lower(csr.rows(), csr.row_offsets().data(), columns, diagonal_.data());
      upper_ = Levels::of_upper(csr.rows(), csr.row_offsets().data(), columns, diagonal_.data());
    }
    return {};
  }

  Outcome setup(const MatrixRef<T>& A) override {
    Outcome outcome = analyze(A);
    return outcome.ok() ? update_values(A) : outcome;
  }

  /// Row by row: for every stored a_ik left of the diagonal, l_ik = a_ik / u_kk, and row i loses l_ik times
  /// the part of row k that lies on row i's pattern. `where_` finds a column's place in row i.
  Outcome update_values(const MatrixRef<T>& A) override {
    A_ = A.csr();
    lu_ = A_->values();
    const auto offsets = A_->row_offsets().span();
    const std::int32_t* columns = A_->column_indices().data();
    std::vector<std::int64_t> where(static_cast<std::size_t>(A_->columns()), -1);
    for (std::int64_t i = 0; i < A_->rows(); ++i) {
      const std::int64_t begin = offsets[static_cast<std::size_t>(i)];
      const std::int64_t end = offsets[static_cast<std::size_t>(i) + 1];
      for (std::int64_t k = begin; k < end; ++k) where[static_cast<std::size_t>(columns[k])] = k;
      for (std::int64_t k = begin; k < diagonal_[static_cast<std::size_t>(i)]; ++k) {
        const auto above = static_cast<std::size_t>(columns[k]);
        lu_[k] /= lu_[diagonal_[above]];
        for (std::int64_t m = diagonal_[above] + 1; m < offsets[above + 1]; ++m) {
          const std::int64_t place = where[static_cast<std::size_t>(columns[m])];
          if (place >= 0) lu_[place] -= lu_[k] * lu_[m];
        }
      }
      for (std::int64_t k = begin; k < end; ++k) where[static_cast<std::size_t>(columns[k])] = -1;
      const T pivot = lu_[diagonal_[static_cast<std::size_t>(i)]];
      if (pivot == 0) return ilu0_pivot(i, "became zero");
      if (!std::isfinite(pivot)) return ilu0_pivot(i, "overflowed");
    }
    return {};
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Workspace>();
  }
  [[nodiscard]] std::size_t bytes() const override {
    return lu_.bytes() + diagonal_.size() * sizeof(std::int64_t) + lower_.bytes() + upper_.bytes();
  }

  /// One application to each column; the residual check tells how far that is from a solution.
  void solve(Workspace& workspace, DenseView<const T> right, DenseView<T> left,
             std::vector<Job>&) const override {
    for (std::int64_t j = 0; j < right.columns(); ++j) apply(workspace, right.column(j), left.column(j));
  }

  void apply(Workspace& /*workspace*/, const T* r, T* z) const override {
    const std::int64_t n = A_->rows();
    const std::int64_t* offsets = A_->row_offsets().data();
    const std::int32_t* columns = A_->column_indices().data();
    const T* values = lu_.data();
    const int threads = this->device().threads();
    lower_.for_each_row(n, threads, true, [&](std::int64_t i) {
      T sum = r[i];
      for (std::int64_t k = offsets[i]; k < diagonal_[static_cast<std::size_t>(i)]; ++k) {
        sum -= values[k] * z[columns[k]];
      }
      z[i] = sum;
    });
    upper_.for_each_row(n, threads, false, [&](std::int64_t i) {
      const std::int64_t d = diagonal_[static_cast<std::size_t>(i)];
      T sum = z[i];
      for (std::int64_t k = d + 1; k < offsets[i + 1]; ++k) sum -= values[k] * z[columns[k]];
      z[i] = sum / values[d];
    });
  }

 private:
  const Csr<T>* A_ = nullptr;           // for its pattern
  Array<T> lu_;                         // L (unit diagonal, not stored) and U on A's pattern
  std::vector<std::int64_t> diagonal_;  // places of the diagonal elements
  Levels lower_, upper_;
};

}  // namespace

template <>
struct MethodWith<Ilu0Options> {
  template <class B, class T>
  using Type = IncompleteLu<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(const Device&,
                                                                                      const Ilu0Options&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(const Device&,
                                                                                       const Ilu0Options&);

}  // namespace echelon
