// SPDX-License-Identifier: BSD-3-Clause
/// Echelon forms, inverses, Schur complements and proofs.
#include "bindings.hpp"
#include "matrix.hpp"

#include <echelon/certify.hpp>
#include <echelon/domain_decomposition/schur_complement.hpp>
#include <echelon/matrix/scalar.hpp>
#include <echelon/problems/constrained_least_squares.hpp>
#include <echelon/problems/pencils.hpp>
#include <echelon/problems/shifted_systems.hpp>
#include <echelon/rank_modulo.hpp>
#include <echelon/rref.hpp>

#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <complex>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon::python {

namespace {

nb::dict dictionary_of(const RankFacts& facts) {
  nb::dict result;
  result["rank"] = facts.rank;
  result["tolerance"] = facts.tolerance;
  result["smallest_accepted_pivot"] = facts.smallest_accepted_pivot;
  result["largest_rejected_pivot"] = facts.largest_rejected_pivot;
  result["distance_to_lower_rank"] = facts.distance_to_lower_rank;
  result["doubtful"] = facts.doubtful;
  result["proven"] = facts.proven;
  return result;
}

/// (R, facts of the rank, pivot columns, row permutation, (sign, mantissa, exponent, phase) of the
/// determinant, basis of the null space, report)
template <class T>
nb::tuple reduce(const PythonMatrix<T>& A, std::optional<double> tolerance) {
  EchelonForm<T> form;
  Dense<T> kernel;
  {
    const Unlocked unlocked;
    GaussJordanOptions options;
    options.tolerance = tolerance;
    form = RowReduction<T>(A.ref().device(), options).reduce(A.ref());
    if (form.report.solved()) kernel = null_space(form);
  }
  nb::object determinant = nb::none();
  if (form.determinant) {
    determinant = nb::make_tuple(form.determinant->sign, form.determinant->mantissa,
                                 form.determinant->exponent, form.determinant->phase);
  }
  return nb::make_tuple(
      numpy_array(std::move(form.R)), dictionary_of(form.facts), numpy_array(std::move(form.pivot_columns)),
      numpy_array(std::move(form.row_permutation)), determinant, numpy_array(std::move(kernel)), form.report);
}

/// Replaces A by its inverse.
template <class T>
Report invert(const nb::ndarray<T>& A) {
  const DenseView<T> view = view_of<T>(A);
  const Unlocked unlocked;
  return RowReduction<T>(view.device()).invert(view);
}

template <class T>
std::int64_t rank_modulo_prime(const PythonMatrix<T>& A, std::int64_t p) {
  return compute(A.work(), [&](const std::atomic<bool>& /*flag*/) { return rank_modulo<T>(A.ref(), p); });
}

template <class T>
ErrorCertificate bound_error(const PythonMatrix<T>& A, const nb::ndarray<const T>& B,
                             const nb::ndarray<const T>& X) {
  const auto b = view_of<const T>(B);
  const auto x = view_of<const T>(X);
  return compute(A.work(),
                 [&](const std::atomic<bool>& flag) { return certify<T>(A.ref(), b, x, {.cancel = &flag}); });
}

template <class T>
void bind_schur_complement(nb::module_& module) {
  using S = SchurComplement<T>;
  using Vectors = nb::ndarray<T>;
  using ConstVectors = nb::ndarray<const T>;
  nb::class_<S>(module, "SchurComplement")
      .def_prop_ro("report", &S::report)
      .def_prop_ro("interior",
                   [](const S& s) {
                     return numpy_array(std::vector<std::int32_t>(s.interior().begin(), s.interior().end()));
                   })
      .def_prop_ro("matrix", [](const S& s) { return numpy_array(s.matrix()); })
      .def_prop_ro("nbytes", &S::bytes)
      .def_prop_ro("interior_inertia",
                   [](const S& s) -> nb::object {
                     const auto inertia = s.interior_inertia();
                     if (!inertia) return nb::none();
                     return nb::make_tuple(inertia->positive, inertia->negative, inertia->zero);
                   })
      .def(
          "reduce",
          [](const S& s, const ConstVectors& B, const Vectors& G) {
            s.reduce(view_of<const T>(B), view_of<T>(G));
          },
          nb::arg().noconvert(), nb::arg().noconvert(), nb::call_guard<Unlocked>())
      .def(
          "expand",
          [](const S& s, const ConstVectors& X_B, const ConstVectors& B, const Vectors& X) {
            s.expand(view_of<const T>(X_B), view_of<const T>(B), view_of<T>(X));
          },
          nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::call_guard<Unlocked>())
      .def(
          "solve",
          [](const S& s, const ConstVectors& B, const Vectors& X) {
            return s.solve(view_of<const T>(B), view_of<T>(X));
          },
          nb::arg().noconvert(), nb::arg().noconvert(), nb::call_guard<Unlocked>());
  module.def(
      "schur_complement",
      [](const PythonMatrix<T>& A, const std::vector<std::int32_t>& interface,
         const std::string& factorization) {
        const auto kind = from_word<SchurFactorization>(factorization);
        if (!kind) {
          throw BadOption("factorization",
                          "factorization is 'auto', 'cholesky', 'ldlt' or 'lu', not '" + factorization + "'");
        }
        return compute(A.work(), [&](const std::atomic<bool>& flag) {
          return SchurComplement<T>(A.ref(), interface, {.factorization = *kind, .cancel = &flag});
        });
      },
      nb::keep_alive<0, 1>());
}

using Vector64 = nb::ndarray<const double>;

template <class T>
std::span<const T> elements_of(const nb::ndarray<const T>& vector) {
  return {vector.data(), vector.size()};
}

/// (x, multipliers, residual norm, error of the constraints, error of the gradient, report); the arrays are
/// contiguous on the host, without elements where they are not given.
template <class T>
nb::tuple minimize_constrained(const PythonMatrix<T>& A, const nb::ndarray<const T>& b,
                               const PythonMatrix<T>* C, const nb::ndarray<const T>& d,
                               const Vector64& weights) {
  ConstrainedSolutionOf<T> found;
  {
    const Unlocked unlocked;
    found = constrained_least_squares<T>({.A = A.ref(),
                                          .b = elements_of(b),
                                          .C = C != nullptr ? C->ref() : MatrixRef<T>(),
                                          .d = elements_of(d),
                                          .weights = elements_of(weights)});
  }
  return nb::make_tuple(numpy_array(std::move(found.x)), numpy_array(std::move(found.multipliers)),
                        found.residual_norm, found.constraint_error, found.gradient_error, found.report);
}

/// Fills X, a column for each shift: (whether all are solved, relative residuals, number of analyses).
template <class T>
nb::tuple solve_with_pencil(const PythonMatrix<T>& A, const PythonMatrix<T>& B, const nb::ndarray<const T>& b,
                            const nb::ndarray<const T>& shifts, const nb::ndarray<T>& X,
                            const std::string& method) {
  PencilSolution<T> found;
  std::vector<double> residuals;
  {
    const Unlocked unlocked;
    found = solve_pencil<T>(A.ref(), B.ref(), elements_of(b), elements_of(shifts), {.method = method});
    std::copy_n(found.X.data(), found.X.rows() * found.X.columns(), X.data());
    for (const Report& report : found.reports) residuals.push_back(report.relative_residual);
  }
  return nb::make_tuple(found.solved(), numpy_array(std::move(residuals)), found.analyses);
}

/// Fills X, a column for each shift: (whether all are solved, relative residuals, number of products).
template <class T>
nb::tuple solve_with_shifts(const PythonMatrix<T>& A, const nb::ndarray<const T>& b,
                            const nb::ndarray<const T>& shifts, const nb::ndarray<T>& X, double rtol,
                            std::int64_t basis, std::int64_t most_products) {
  ShiftedSolution<T> found;
  {
    const Unlocked unlocked;
    found = solve_shifted<T>(A.ref(), elements_of(b), elements_of(shifts),
                             {.rtol = rtol, .basis = basis, .max_products = most_products});
    std::copy_n(found.X.data(), found.X.rows() * found.X.columns(), X.data());
  }
  return nb::make_tuple(found.solved(), numpy_array(std::move(found.relative_residuals)), found.products);
}

}  // namespace

template <class T>
void bind_eliminations(nb::module_& module) {
  module.def("solve_shifted", solve_with_shifts<T>, nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(),
             nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg());
  module.def("solve_pencil", solve_with_pencil<T>, nb::arg(), nb::arg(), nb::arg().noconvert(),
             nb::arg().noconvert(), nb::arg().noconvert(), nb::arg());
  if constexpr (!std::is_same_v<T, float>) {
    module.def("constrained_least_squares", minimize_constrained<T>, nb::arg(), nb::arg().noconvert(),
               nb::arg().none(), nb::arg().noconvert(), nb::arg().noconvert());
  }
  module.def("rref", reduce<T>, nb::arg(), nb::arg().none());
  module.def("invert", invert<T>, nb::arg().noconvert());
  if constexpr (!is_complex<T>) {
    module.def("rank_modulo", rank_modulo_prime<T>);
    module.def("certify", bound_error<T>, nb::arg(), nb::arg().noconvert(), nb::arg().noconvert());
  }
  bind_schur_complement<T>(module);
}

template void bind_eliminations<float>(nb::module_&);
template void bind_eliminations<double>(nb::module_&);
template void bind_eliminations<std::complex<double>>(nb::module_&);

}  // namespace echelon::python
