// SPDX-License-Identifier: BSD-3-Clause
// The public class: argument checks, and dispatch to the backend.
#include "backend/api_boundary.hpp"
#include "backend/check_same_memory.hpp"
#include "backend/dispatch.hpp"
#include "matrix/assign.hpp"
#include "matrix/shape.hpp"
#include "relaxation/gauss_seidel/sweeper.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/sweep.hpp>

#include <fmt/format.h>

namespace echelon {

template <class T>
class GaussSeidelSweep<T>::Workspace {
 public:
  explicit Workspace(const Device& device)
      : sweeper(on_target(device,
                          [&]<class Target>() { return gauss_seidel::make_sweeper<Target, T>(device); })) {}

  std::unique_ptr<gauss_seidel::Sweeper<T>> sweeper;
};

template <class T>
GaussSeidelSweep<T>::GaussSeidelSweep(const Device& device)
    : device_(device), workspace_(at_api_boundary([&] { return std::make_unique<Workspace>(device); })) {}
template <class T>
GaussSeidelSweep<T>::GaussSeidelSweep(GaussSeidelSweep&&) noexcept = default;
template <class T>
GaussSeidelSweep<T>& GaussSeidelSweep<T>::operator=(GaussSeidelSweep&&) noexcept = default;
template <class T>
GaussSeidelSweep<T>::~GaussSeidelSweep() = default;

template <class T>
std::size_t GaussSeidelSweep<T>::bytes() const {
  return workspace_->sweeper->bytes();
}

namespace {

template <class T>
void check_operands(const Device& device, const Csr<T>& A, DenseView<const T> B, DenseView<const T> X) {
  require_square(A.rows(), A.columns(), "sweeps need");
  if (B.rows() != A.rows() || X.rows() != A.rows() || B.columns() != X.columns()) {
    throw DimensionMismatch(fmt::format(
        "A is {} by {}, B is {} by {}, X is {} by {}: B and X need {} rows and the same number of columns",
        A.rows(), A.columns(), B.rows(), B.columns(), X.rows(), X.columns(), A.rows()));
  }
  check_same_memory(device, "the sweeps", A.device(), "A");
  check_same_memory(device, "the sweeps", B.device(), "B");
  check_same_memory(device, "the sweeps", X.device(), "X");
}

void check_options(const SweepOptions& options) {
  if (options.sweeps < 0) throw BadOption("sweeps", fmt::format("{} is not at least 0", options.sweeps));
  if (!(options.omega > 0 && options.omega < 2)) {
    throw BadOption("omega", fmt::format("{} is not between 0 and 2", options.omega));
  }
}

}  // namespace

template <class T>
SweepReport GaussSeidelSweep<T>::sweep(const Csr<T>& A, DenseView<const T> B, DenseView<T> X,
                                       const SweepOptions& options) {
  return at_api_boundary([&] {
    check_options(options);
    check_operands<T>(device_, A, B, X);
    if (B.layout() != Layout::column_major || X.layout() != Layout::column_major) {
      Dense<T> b(device_, B.rows(), B.columns());
      Dense<T> x(device_, X.rows(), X.columns());
      assign<T>(B, b);
      assign<T>(X, x);
      const SweepReport report = sweep(A, b, x, options);
      assign<T>(x, X);
      return report;
    }
    const gauss_seidel::SkippedRows skipped =
        workspace_->sweeper->sweep({.A = &A,
                                    .right_hand_sides = X.columns(),
                                    .b = B.data(),
                                    .leading_b = B.leading(),
                                    .x = X.data(),
                                    .leading_x = X.leading(),
                                    .kind = options.kind,
                                    .sweeps = options.sweeps,
                                    .omega = static_cast<T>(options.omega)});
    SweepReport report;
    report.skipped_rows = skipped.count;
    if (skipped.count > 0) report.first_skipped_row = skipped.first;
    return report;
  });
}

template class GaussSeidelSweep<float>;
template class GaussSeidelSweep<double>;

}  // namespace echelon
