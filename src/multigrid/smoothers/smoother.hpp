// SPDX-License-Identifier: BSD-3-Clause
/// Interface of smoothers.
#pragma once

#include "backend/target.hpp"
#include "linalg/spmv/multiply.hpp"
#include "solver/implementation.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace echelon::multigrid {

/// Vectors and scratch memory of a smoothing step on one level.
template <class B, class T>
struct SmootherArguments {
  B& backend;
  Workspace* workspace;  ///< what the smoother's make_workspace returned
  const T* b;
  T* x;
  T* r;  ///< scratch of n elements
};

/// Smooths A x = b. The post-smoother is the adjoint of the pre-smoother in the inner product of A, for
/// symmetric A: then a cycle is a symmetric operator. Read-only after set-up.
template <class B, class T>
class Smoother {
 public:
  Smoother() = default;
  Smoother(const Smoother&) = delete;
  Smoother& operator=(const Smoother&) = delete;
  virtual ~Smoother() = default;

  /// Scratch memory of one solve besides r; may be null.
  [[nodiscard]] virtual std::unique_ptr<Workspace> make_workspace() const { return nullptr; }
  [[nodiscard]] virtual std::size_t bytes() const = 0;

  /// Pre-smoothing from x = 0; x need not be initialised.
  virtual void start(const SmootherArguments<B, T>& arguments) const = 0;
  virtual void pre_smooth(const SmootherArguments<B, T>& arguments) const = 0;
  virtual void post_smooth(const SmootherArguments<B, T>& arguments) const = 0;
};

/// r = b - A x.
template <class B, class T>
void form_residual(B& backend, const Csr<T>& A, const T* b, const T* x, T* r) {
  backend.copy(A.rows(), b, r);
  multiply(backend, T{-1}, MatrixRef<T>(A), x, T{1}, r);
}

}  // namespace echelon::multigrid
