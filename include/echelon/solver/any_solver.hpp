// SPDX-License-Identifier: BSD-3-Clause
/// A solver whose scalar type is chosen at run time, for bindings and tools.
#pragma once

#include <echelon/enum_words.hpp>
#include <echelon/export.h>
#include <echelon/preconditioner.hpp>
#include <echelon/solver.hpp>
#include <echelon/solver/factors.hpp>

#include <array>
#include <complex>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace echelon {

/// Scalar types of the library, in the order of the alternatives of OfAnyScalar.
enum class Scalar {
  float32,     ///< float
  float64,     ///< double
  complex128,  ///< std::complex<double>
};
constexpr std::array<EnumWord<Scalar>, 3> words_of(Scalar) {
  return {{{Scalar::float32, "float"}, {Scalar::float64, "double"}, {Scalar::complex128, "complex double"}}};
}

/// Object<T> for one of the scalar types.
template <template <class> class Object>
using OfAnyScalar = std::variant<Object<float>, Object<double>, Object<std::complex<double>>>;

/// Calls `f.template operator()<T>()` with the type that `scalar` names.
template <class F>
decltype(auto) with_scalar(Scalar scalar, F&& f) {
  if (scalar == Scalar::float32) return std::forward<F>(f).template operator()<float>();
  if (scalar == Scalar::float64) return std::forward<F>(f).template operator()<double>();
  return std::forward<F>(f).template operator()<std::complex<double>>();
}

template <class T>
using ConstDenseView = DenseView<const T>;
template <class T>
using ConstSpan = std::span<const T>;

/// A Solver<T> whose T is chosen at run time. Each function is that of Solver, which its documentation
/// describes; it throws Error in addition where operands have another scalar type than the solver. Matrices
/// are referred to and must outlive the solves that use them.
class ECHELON_API AnySolver {
 public:
  /// Makes a method by its name. Throws BadOption, NotBuilt, NoDevice.
  AnySolver(std::string_view method, const Device& device, Scalar scalar, const Options& options = {});
  template <class T>
  explicit AnySolver(Solver<T> solver) : solver_(std::move(solver)) {}

  [[nodiscard]] Scalar scalar() const { return static_cast<Scalar>(solver_.index()); }
  [[nodiscard]] OfAnyScalar<Solver>& get() { return solver_; }
  [[nodiscard]] const OfAnyScalar<Solver>& get() const { return solver_; }

  Report analyze(const OfAnyScalar<MatrixRef>& A, const Control& control = {});
  Report setup(const OfAnyScalar<MatrixRef>& A, const Control& control = {});
  Report update_values(const OfAnyScalar<MatrixRef>& A, const Control& control = {});
  Report update_values(const OfAnyScalar<ConstSpan>& values, const Control& control = {});
  void set_preconditioner(const OfAnyScalar<Preconditioner>& preconditioner);
  /// Preconditions with a solver that has been set up and must outlive the solves of this one.
  void set_preconditioner(const AnySolver& solver);
  /// Solves op(A) X = B with the operation of `control`.
  [[nodiscard]] Report solve(const OfAnyScalar<ConstDenseView>& B, const OfAnyScalar<DenseView>& X,
                             const Control& control = {}) const;

  [[nodiscard]] Determinant determinant() const;
  [[nodiscard]] Inertia inertia() const;
  [[nodiscard]] OfAnyScalar<MatrixFactors> factors() const;

  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] const Device& device() const;

 private:
  OfAnyScalar<Solver> solver_;
};

}  // namespace echelon
