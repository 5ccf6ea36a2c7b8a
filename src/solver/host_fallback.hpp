// SPDX-License-Identifier: BSD-3-Clause
/// A method on the host in place of one on a GPU, for matrices that the latter cannot factor.
#pragma once

#include "solver/implementation.hpp"
#include "support/setup_control.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

/// Keeps a copy of the matrix on the host. Right-hand sides and solutions are those of the GPU: they are
/// copied, which waits. After set-up, the constant functions are safe to call from several threads.
template <class T>
class HostFallback {
 public:
  /// `make` makes the method, which runs on the host.
  explicit HostFallback(std::function<Solver<T>()> make) : make_(std::move(make)), method_(make_()) {}

  [[nodiscard]] bool active() const { return active_; }
  /// The method on the host, set up while `active()`.
  [[nodiscard]] SolverImplementation<T>& method() const { return SolverAccess<T>::implementation(method_); }
  void deactivate() {
    active_ = false;
    matrix_.reset();
  }

  /// Factors a Dense or Csr matrix on the host. The outcome warns why.
  template <class M>
  Outcome setup(M matrix, const SetupControl& control, std::string reason) {
    warning_ = "factored on the host: " + std::move(reason);
    active_ = true;
    return factor(&SolverImplementation<T>::setup, std::move(matrix), control);
  }
  /// Factors new values in the pattern of the last matrix.
  template <class M>
  Outcome update_values(M matrix, const SetupControl& control) {
    return factor(&SolverImplementation<T>::update_values, std::move(matrix), control);
  }

  /// The method on the host, set up for a Dense or Csr matrix on the host, which it refers to: for results
  /// that the factors on a GPU do not give.
  template <class M>
  [[nodiscard]] Solver<T> factored(const M& matrix) const {
    Solver<T> solver = make_();
    solver.setup(MatrixRef<T>(matrix));
    return solver;
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const { return method().make_workspace(); }
  [[nodiscard]] std::size_t bytes() const { return active_ ? method().bytes() + matrix_bytes_ : 0; }

  /// Solves for column-major views in the memory of `device`; with the transpose of the matrix, if it is
  /// given, by a method with solve_transposed().
  void solve(const Device& device, Workspace& workspace, DenseView<const T> B, DenseView<T> X,
             std::vector<Job>& jobs, const Csr<T>* transpose = nullptr) const {
    const std::size_t bytes = static_cast<std::size_t>(B.rows()) * sizeof(T);
    Dense<T> b(Device(), B.rows(), B.columns());
    Dense<T> x(Device(), B.rows(), B.columns());
    for (std::int64_t j = 0; j < B.columns(); ++j)
      memory_detail::copy(Device(), b.view().column(j), device, B.column(j), bytes);
    if (transpose == nullptr) {
      method().solve(workspace, b.view(), x.view(), jobs);
    } else {
      method().solve_transposed(transpose->to(Device()), workspace, b.view(), x.view(), jobs);
    }
    for (std::int64_t j = 0; j < B.columns(); ++j)
      memory_detail::copy(device, X.column(j), Device(), x.view().column(j), bytes);
  }

  /// z = A^-1 r, or A^-T r, without refinement, for vectors in the memory of `device`.
  void apply(const Device& device, Workspace& workspace, const MultiVector<const T>& r,
             const MultiVector<T>& z, Operation operation = Operation::none) const {
    const std::int64_t n = r.rows();
    const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(T);
    Array<T> in(Device(), n);
    Array<T> out(Device(), n);
    for (int c = 0; c < r.columns(); ++c) {
      memory_detail::copy(Device(), in.data(), device, r[c], bytes);
      method().apply(workspace, {in.data(), n}, {out.data(), n}, operation);
      memory_detail::copy(device, z[c], Device(), out.data(), bytes);
    }
  }

 private:
  template <class M>
  Outcome factor(Outcome (SolverImplementation<T>::*phase)(const MatrixRef<T>&), M matrix,
                 const SetupControl& control) {
    auto kept = std::make_shared<const M>(std::move(matrix));
    const MatrixRef<T> reference(*kept);
    method().set_control(control);
    Outcome outcome = (method().*phase)(reference);
    matrix_bytes_ = kept->bytes();
    matrix_ = std::move(kept);  // the method no longer refers to the one before
    outcome.warnings.insert(outcome.warnings.begin(), warning_);
    return outcome;
  }

  std::function<Solver<T>()> make_;
  Solver<T> method_;
  bool active_ = false;
  std::shared_ptr<const void> matrix_;  // the method refers to it
  std::size_t matrix_bytes_ = 0;
  std::string warning_;
};

}  // namespace echelon
