// SPDX-License-Identifier: BSD-3-Clause
/// What <echelon/gauss_jordan.hpp> promises, for one side each.
#pragma once

#include "backend/targets.hpp"

#include <echelon/gauss_jordan.hpp>

#include <memory>

namespace echelon {

/// What the calls of a GaussJordan keep for those that follow: backends, and on a GPU streams and handles of
/// its libraries. For one call at a time.
struct EliminationSpace {
  explicit EliminationSpace(const Device& of) : device(of) {}
  EliminationSpace(const EliminationSpace&) = delete;
  EliminationSpace& operator=(const EliminationSpace&) = delete;
  virtual ~EliminationSpace() = default;
  Device device;
};

template <class Target, class T>
[[nodiscard]] std::unique_ptr<EliminationSpace> make_elimination_space(const Device& device);

/// `space`: made for the same side and T. What it is made for is where the operands are.
template <class Target, class T>
[[nodiscard]] EchelonForm<T> reduce_on(EliminationSpace& space, const GaussJordanOptions& options,
                                       Dense<T> A);
template <class Target, class T>
[[nodiscard]] GeneralSolution<T> solve_on(EliminationSpace& space, const GaussJordanOptions& options,
                                          const MatrixRef<T>& A, DenseView<const T> right);
template <class Target, class T>
[[nodiscard]] Report invert_on(EliminationSpace& space, const GaussJordanOptions& options, DenseView<T> A);
template <class Target, class T>
[[nodiscard]] Dense<T> null_space_on(const EchelonForm<T>& form);

}  // namespace echelon
