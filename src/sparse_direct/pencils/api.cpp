// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "matrix/host_copy.hpp"
#include "matrix/shape.hpp"
#include "support/scalar.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/structure.hpp>
#include <echelon/problems/pencils.hpp>
#include <echelon/solver.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace echelon {

namespace {

template <class T>
Csr<T> sparse_on_host(const MatrixRef<T>& A) {
  if (A.is_operator()) throw Error("a pencil needs the elements of A and B, not their products alone");
  const HostCopy<T> copy(A);
  return copy.matrix().is_sparse() ? *copy.matrix().csr() : to_csr(copy.matrix());
}

/// A and B on the union of their patterns.
template <class T>
struct Pencil {
  Csr<T> A, B;
  Csr<T> sum;  ///< A + shift B

  Pencil(const Csr<T>& given_A, const Csr<T>& given_B)
      : A(on_union(given_A, given_B)), B(on_union(given_B, given_A)), sum(A) {}

  void set_shift(T shift) {
    const T* const a = A.values().data();
    std::transform(a, a + A.nonzeros(), B.values().data(), sum.values().data(),
                   [shift](T a_ij, T b_ij) { return a_ij + shift * b_ij; });
  }

 private:
  /// `values`, with zeros where `other` alone has elements.
  static Csr<T> on_union(const Csr<T>& values, const Csr<T>& other) {
    std::vector<Triplet<T>> elements;
    elements.reserve(static_cast<std::size_t>(values.nonzeros() + other.nonzeros()));
    const auto add = [&](const Csr<T>& matrix, T factor) {
      for (std::int32_t i = 0; i < matrix.rows(); ++i) {
        for (std::int64_t k = matrix.row_offsets()[i]; k < matrix.row_offsets()[i + 1]; ++k)
          elements.push_back({i, matrix.column_indices()[k], factor * matrix.values()[k]});
      }
    };
    add(values, T{1});
    add(other, T{0});
    return Csr<T>::from_triplets(values.rows(), values.columns(), elements);
  }
};

/// The factorisation that suits A + shift B for every shift.
template <class T>
std::string method_for(const Pencil<T>& pencil, std::span<const T> shifts) {
  const Structure of_A = analyze_structure(MatrixRef<T>(pencil.A));
  const Structure of_B = analyze_structure(MatrixRef<T>(pencil.B));
  if (of_A.symmetric_values && of_B.symmetric_values) return "sparse-ldlt";
  const bool hermitian =
      is_complex<T> && of_A.hermitian_values && of_B.hermitian_values &&
      std::all_of(shifts.begin(), shifts.end(), [](T shift) { return shift == conj(shift); });
  return hermitian ? "sparse-ldlt" : "sparse-lu";
}

template <class T>
void check_sizes(const Csr<T>& A, const Csr<T>& B, std::span<const T> b) {
  require_square(A.rows(), A.columns(), "a pencil needs");
  if (A.rows() != B.rows() || A.columns() != B.columns())
    throw DimensionMismatch(
        fmt::format("A is {} by {}, and B is {} by {}", A.rows(), A.columns(), B.rows(), B.columns()));
  if (std::ssize(b) != A.rows())
    throw DimensionMismatch(fmt::format("b has {} elements, and A has {} rows", b.size(), A.rows()));
}

}  // namespace

template <class T>
PencilSolution<T> solve_pencil(const MatrixRef<T>& A, const MatrixRef<T>& B, std::span<const T> b,
                               std::span<const T> shifts, const PencilOptions& options) {
  return at_api_boundary([&] {
    const Csr<T> given_A = sparse_on_host(A);
    const Csr<T> given_B = sparse_on_host(B);
    check_sizes<T>(given_A, given_B, b);
    Pencil<T> pencil(given_A, given_B);
    PencilSolution<T> solution;
    solution.method = options.method == "auto" ? method_for(pencil, shifts) : options.method;
    solution.X = Dense<T>(Device(), pencil.sum.rows(), std::ssize(shifts));
    Solver<T> solver = make_solver<T>(solution.method, options.device);
    bool analyzed = false;
    std::int64_t column = 0;
    for (const T shift : shifts) {
      pencil.set_shift(shift);
      const std::span<T> x(solution.X.view().column(column++), b.size());
      const auto set_up = [&] {
        ++solution.analyses;
        static_cast<void>(solver.setup(pencil.sum));
        return solver.solve(b, x);
      };
      if (!std::exchange(analyzed, true)) {
        solution.reports.push_back(set_up());
        continue;
      }
      static_cast<void>(solver.update_values(pencil.sum));
      Report report = solver.solve(b, x);
      solution.reports.push_back(report.solved() ? std::move(report) : set_up());
    }
    return solution;
  });
}

#define ECHELON_INSTANTIATE(T)                                                                          \
  template PencilSolution<T> solve_pencil(const MatrixRef<T>&, const MatrixRef<T>&, std::span<const T>, \
                                          std::span<const T>, const PencilOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
