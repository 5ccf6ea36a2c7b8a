// SPDX-License-Identifier: BSD-3-Clause
/// Interface of smoothers.
#pragma once

#include "backend/target.hpp"
#include "linalg/spmv/multiply.hpp"
#include "linalg/spmv/row_products.hpp"
#include "linalg/vector/multi_vector.hpp"
#include "solver/implementation.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace echelon::multigrid {

/// Vectors of a smoothing step on one level. Each column gets the bits that it has alone.
template <class B, class T>
struct SmootherArguments {
  B& backend;
  Workspace* workspace;  ///< result of the smoother's make_workspace()
  MultiVector<const T> b;
  MultiVector<T> x;
  MultiVector<T> r;  ///< scratch
};

/// r = b - A x for each column.
template <class B, class T>
void form_residuals(B& backend, const Csr<T>& A, const MultiVector<const T>& b, const MultiVector<T>& x,
                    const MultiVector<T>& r) {
  for_column_products(backend, A, x.columns(), [&](int c) {
    return VectorProduct{static_cast<const T*>(x[c]), SubtractProduct<T>{b[c], r[c]}};
  });
}
template <class B, class T>
void form_residuals(const Csr<T>& A, const SmootherArguments<B, T>& a) {
  form_residuals(a.backend, A, a.b, a.x, a.r);
}

/// Interface of smoothers for A x = b. For symmetric A the post-smoother is the adjoint of the pre-smoother
/// in the inner product of A, which makes a V- or W-cycle a symmetric operator. Read-only after set-up.
template <class B, class T>
class Smoother {
 public:
  Smoother() = default;
  Smoother(const Smoother&) = delete;
  Smoother& operator=(const Smoother&) = delete;
  virtual ~Smoother() = default;

  /// Scratch memory for this many columns, excluding r; may be null.
  [[nodiscard]] virtual std::unique_ptr<Workspace> make_workspace(int /*columns*/) const { return nullptr; }
  [[nodiscard]] virtual std::size_t bytes() const = 0;

  /// Whether every step queues the same work, without waiting: see Recording.
  [[nodiscard]] virtual bool is_recordable() const { return false; }

  /// Pre-smoothing from x = 0; x need not be initialised.
  virtual void start(const SmootherArguments<B, T>& arguments) const = 0;
  virtual void pre_smooth(const SmootherArguments<B, T>& arguments) const = 0;
  /// Pre-smoothing from x = 0, and r = b - A x.
  virtual void start_with_residual(const SmootherArguments<B, T>& arguments) const = 0;
  /// Whether post_smooth takes the iterate from r, and leaves the new one in x; otherwise both are in x.
  [[nodiscard]] virtual bool takes_iterate_from_r() const { return false; }
  virtual void post_smooth(const SmootherArguments<B, T>& arguments) const = 0;
};

}  // namespace echelon::multigrid
