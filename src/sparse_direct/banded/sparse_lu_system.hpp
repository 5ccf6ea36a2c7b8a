// SPDX-License-Identifier: BSD-3-Clause
/// Systems that sparse-lu solves on the host in place of the factors of a band: its pivots reveal the rank of
/// a singular matrix, and let elements grow less than those of a band, taken column by column, do.
#pragma once

#include <echelon/cancellation.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace echelon::banded {

template <class T>
class SparseLuSystem {
 public:
  /// Factors A, which lives on `device`.
  SparseLuSystem(const MatrixRef<T>& A, const Device& device, const CancellationToken& cancel)
      : device_(device),
        A_(A.is_sparse() ? A.csr()->to(Device::serial()) : to_csr(A).to(Device::serial())),
        solver_(make_solver<T>("sparse-lu", device.on_host() ? device : Device())) {
    implementation().set_control(cancel);
    outcome_ = implementation().setup(MatrixRef<T>(A_));
    implementation().set_control({});
  }

  [[nodiscard]] const Outcome& outcome() const { return outcome_; }
  [[nodiscard]] std::size_t bytes() const { return A_.bytes() + implementation().bytes(); }

  /// Solves for columns on the device, and tells of each whether x satisfies all equations: those of A, or
  /// of A^T if `transpose` is not null.
  void solve(const Csr<T>* transpose, DenseView<const T> B, DenseView<T> X, std::vector<Job>& jobs) const {
    const Dense<T> b = on_host(B);
    Dense<T> x(Device::serial(), B.rows(), B.columns());
    const std::unique_ptr<Workspace> workspace = implementation().make_workspace();
    if (transpose == nullptr) {
      implementation().solve(*workspace, b, x.view(), jobs);
    } else {
      implementation().solve_transposed(transpose->to(Device::serial()), *workspace, b, x.view(), jobs);
    }
    for (std::int64_t j = 0; j < B.columns(); ++j) to_device(x.view().column(j), X.column(j));
  }

  /// Computes a column Z from R, on the device.
  void apply(DenseView<const T> R, DenseView<T> Z) const {
    const std::int64_t n = R.rows();
    const Dense<T> r = on_host(R);
    Dense<T> z(Device::serial(), n, 1);
    const std::unique_ptr<Workspace> workspace = implementation().make_workspace();
    implementation().apply(*workspace, {r.data(), n}, {z.data(), n});
    to_device(z.data(), Z.column(0));
  }

 private:
  [[nodiscard]] SolverImplementation<T>& implementation() const {
    return SolverAccess<T>::implementation(solver_);
  }
  [[nodiscard]] std::size_t column_bytes() const { return static_cast<std::size_t>(A_.rows()) * sizeof(T); }
  [[nodiscard]] Dense<T> on_host(DenseView<const T> B) const {
    Dense<T> b(Device::serial(), B.rows(), B.columns());
    for (std::int64_t j = 0; j < B.columns(); ++j)
      memory_detail::copy(Device::serial(), b.view().column(j), device_, B.column(j), column_bytes());
    return b;
  }
  void to_device(const T* x, T* out) const {
    memory_detail::copy(device_, out, Device::serial(), x, column_bytes());
  }

  Device device_;
  Csr<T> A_;  // on the host
  Solver<T> solver_;
  Outcome outcome_;
};

}  // namespace echelon::banded
