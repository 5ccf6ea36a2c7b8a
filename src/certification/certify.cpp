// SPDX-License-Identifier: BSD-3-Clause
// Certificates: the choice of the proof, and the worst bound over the columns.
#include "backend/api_boundary.hpp"
#include "backend/dispatch.hpp"
#include "certification/h_matrix.hpp"
#include "certification/inverse_bound.hpp"
#include "certification/positive_definite.hpp"
#include "certification/residual_bound.hpp"
#include "certification/rounding.hpp"
#include "matrix/assign.hpp"
#include "matrix/host_copy.hpp"
#include "matrix/shape.hpp"
#include "solver/certify_answer.hpp"

#include <echelon/certify.hpp>
#include <echelon/error.hpp>
#include <echelon/matrix/structure.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace echelon {

namespace {

using namespace certification;

using Columns = std::vector<std::vector<double>>;

/// A linear system whose vectors are in double on the host, and whose matrix is as it was given.
template <class T>
struct LinearSystem {
  MatrixRef<T> A;
  Columns b, x;
  CertifyOptions options;

  /// Whether the options let this proof be tried.
  [[nodiscard]] bool may_use(Proof proof) const { return options.proof.value_or(proof) == proof; }
};

/// A in double on the host, for the proofs of sparse matrices.
struct SparseMatrix {
  Csr<double> A;
  Structure structure;
  Device device;  ///< where factorisations take place
};

Csr<double> in_double(Csr<double> A) {
  return A;
}
Csr<double> in_double(const Csr<float>& A) {
  Array<double> values(Device::serial(), A.nonzeros());
  std::copy_n(A.values().data(), A.nonzeros(), values.data());
  return Csr<double>::unchecked(A.rows(), A.columns(), A.row_offsets(), A.column_indices(),
                                std::move(values));
}

template <class T>
Columns columns_of(const DenseView<const T>& matrix) {
  const HostCopy<T> copy{MatrixRef<T>(matrix)};
  const DenseView<const T>& view = copy.matrix().dense();
  Columns columns;
  for (std::int64_t j = 0; j < view.columns(); ++j) {
    std::vector<double>& column = columns.emplace_back();
    for (std::int64_t i = 0; i < view.rows(); ++i) column.push_back(static_cast<double>(view(i, j)));
  }
  return columns;
}

template <class T>
void check_shapes(const MatrixRef<T>& A, const DenseView<const T>& B, const DenseView<const T>& X) {
  if (A.is_operator()) throw Error("a certificate needs the elements of A, and an operator has none");
  require_square(A.rows(), A.columns(), "a certificate needs");
  if (B.rows() != A.rows() || X.rows() != A.rows() || B.columns() != X.columns()) {
    throw DimensionMismatch(fmt::format("A is {} by {}, B is {} by {}, and X is {} by {}", A.rows(),
                                        A.columns(), B.rows(), B.columns(), X.rows(), X.columns()));
  }
}

template <class T>
SparseMatrix sparse_on_host(const MatrixRef<T>& A) {
  const HostCopy<T> copy(A);
  const MatrixRef<T>& host = copy.matrix();
  SparseMatrix result{in_double(host.is_sparse() ? *host.csr() : to_csr(host)),
                      {},
                      A.device().on_host() ? A.device() : Device()};
  result.structure = analyze_structure(MatrixRef<double>(result.A));
  return result;
}

/// Infinity norm of x; infinite if an element is NaN.
double largest_magnitude(const std::vector<double>& x) {
  double largest = 0;
  for (const double element : x) {
    if (std::isnan(element)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(element));
  }
  return largest;
}

bool all_finite(const std::vector<double>& x) {
  return std::all_of(x.begin(), x.end(), [](double element) { return std::isfinite(element); });
}
bool all_finite(const std::vector<std::vector<double>>& columns) {
  return std::all_of(columns.begin(), columns.end(),
                     [](const std::vector<double>& column) { return all_finite(column); });
}

ErrorCertificate refusal(std::string reason) {
  ErrorCertificate certificate;
  certificate.reason = std::move(reason);
  return certificate;
}

ErrorCertificate nothing_to_certify(const Report& report) {
  return refusal("solve gave no x: " + std::string(to_string(report.status)));
}

/// Adds a column with |x_i - x*_i| <= bounds[i].
void add_column(ErrorCertificate& certificate, std::vector<double>& all_bounds,
                const std::vector<double>& bounds, const std::vector<double>& x) {
  all_bounds.insert(all_bounds.end(), bounds.begin(), bounds.end());
  const double bound = largest_magnitude(bounds);
  certificate.error_bound = std::max(certificate.error_bound, bound);
  const double least = subtract_down(largest_magnitude(x), bound);  // of max |x*_i|
  const double relative = bound == 0  ? 0
                          : least > 0 ? divide_up(bound, least)
                                      : std::numeric_limits<double>::infinity();
  certificate.relative_error_bound = std::max(certificate.relative_error_bound, relative);
}

/// Makes the certificate of all columns; bound_column(b, x) bounds the error of each element of one column.
template <class T, class BoundColumn>
ErrorCertificate certificate_of(Proof proof, std::string reason, const LinearSystem<T>& system,
                                const BoundColumn& bound_column) {
  ErrorCertificate certificate{proof, std::move(reason), 0, 0, {}, std::nullopt};
  std::vector<double> bounds;
  for (std::size_t c = 0; c < system.x.size(); ++c) {
    add_column(certificate, bounds, bound_column(system.b[c], system.x[c]), system.x[c]);
  }
  if (!std::isfinite(certificate.error_bound)) {
    return refusal("the residual of x, or the bound on its error, exceeds the range of double precision");
  }
  const Array<double> elements(Device(), bounds);
  certificate.element_bounds =
      Dense<double>(system.A.rows(), static_cast<std::int64_t>(system.x.size()), elements);
  return certificate;
}

/// Certificate by the H-matrix bound; empty if A is not proven to be an H-matrix.
template <class T>
std::optional<ErrorCertificate> by_comparison_matrix(const LinearSystem<T>& system,
                                                     const SparseMatrix& matrix) {
  const ComparisonMatrix comparison(matrix.A, matrix.structure.symmetric_values, matrix.device,
                                    system.options.cancel);
  if (!comparison.is_h_matrix()) return std::nullopt;
  return certificate_of(Proof::h_matrix, "A is an H-matrix: a vector v > 0 with <A> v > 0 was found", system,
                        [&](const std::vector<double>& b, const std::vector<double>& x) {
                          return comparison.bound_inverse_times(residual_bound(matrix.A, b, x));
                        });
}

template <class T>
ErrorCertificate by_smallest_eigenvalue(const LinearSystem<T>& system, const SparseMatrix& matrix) {
  const EigenvalueBound eigenvalue =
      bound_smallest_eigenvalue(matrix.A, matrix.device, system.options.cancel);
  if (!eigenvalue.scaled_bound) {
    return refusal("A is not an H-matrix, as far as can be proven, nor positive definite: " +
                   eigenvalue.reason);
  }
  ErrorCertificate certificate = certificate_of(
      Proof::positive_definite,
      fmt::format(
          "A is positive definite with smallest eigenvalue >= {:.3e}: the Cholesky factorisation of a "
          "shifted A ran to its end",
          eigenvalue.bound()),
      system, [&](const std::vector<double>& b, const std::vector<double>& x) {
        return eigenvalue.bound_inverse_times(residual_bound(matrix.A, b, x));
      });
  if (certificate.proven()) certificate.smallest_eigenvalue = eigenvalue.bound();
  return certificate;
}

/// Tries the proofs for sparse matrices, which work on the host.
template <class T>
ErrorCertificate by_sparse_factorization(const LinearSystem<T>& system) {
  const SparseMatrix matrix = sparse_on_host(system.A);
  const Structure& structure = matrix.structure;
  if (structure.nonfinite_row) return refusal("A has elements that are NaN or infinite");
  if (system.may_use(Proof::h_matrix) && structure.zero_diagonals == 0) {
    if (auto certificate = by_comparison_matrix(system, matrix)) return *certificate;
  }
  if (system.options.cancel.stop_requested()) return refusal("stopped by the caller");
  if (!system.may_use(Proof::positive_definite)) return refusal("no vector v > 0 with <A> v > 0 was found");
  if (!structure.symmetric_values) {
    return refusal("A is not symmetric, and no vector v > 0 with <A> v > 0 was found");
  }
  if (structure.positive_diagonals < structure.rows) {
    return refusal(
        "A has diagonal elements that are not positive, and no vector v > 0 with <A> v > 0 was found");
  }
  return by_smallest_eigenvalue(system, matrix);
}

/// Order up to which sparse matrices are treated as dense: 400 MB for the proof.
constexpr std::int64_t largest_dense_order = 4096;

/// Replaces the solutions of the system, and X, by refined ones, rounded to T.
template <class T>
void refine_columns(InverseProof& proof, LinearSystem<T>& system, DenseView<T> X) {
  Dense<T> refined(Device(), X.rows(), X.columns());
  for (std::int64_t j = 0; j < X.columns(); ++j) {
    const auto c = static_cast<std::size_t>(j);
    const std::vector<double> x = proof.refine(system.b[c], system.x[c]);
    std::transform(x.begin(), x.end(), refined.view().column(j),
                   [](double element) { return static_cast<T>(element); });
    system.x[c].assign(refined.view().column(j), refined.view().column(j) + X.rows());
  }
  const Dense<T> there = refined.to(X.device());
  assign<T>(there, X);
}

/// Certificate from an approximate inverse: of the refined solutions if `refined` is given, otherwise of x.
template <class T>
ErrorCertificate by_approximate_inverse(LinearSystem<T>& system, const std::optional<DenseView<T>>& refined) {
  const Device device = system.options.device.value_or(system.A.device());
  Dense<T> A = to_dense(system.A);
  if (!(A.device() == device)) A = A.to(device);
  InverseProof proof(
      on_target<Targets::both>(
          device,
          [&]<class Target>() { return certification::make_inverse_operations<Target, T>(std::move(A)); }),
      system.options.cancel);
  if (!proof.proven()) return refusal(proof.reason());
  if (refined) refine_columns(proof, system, *refined);
  std::string reason = proof.reason();
  if (system.A.is_sparse()) reason += fmt::format("; A, of order {}, was treated as dense", system.A.rows());
  return certificate_of(
      Proof::approximate_inverse, std::move(reason), system,
      [&](const std::vector<double>& b, const std::vector<double>& x) { return proof.bound_error(b, x); });
}

/// Tries the proofs that suit A, one after the other, until one succeeds.
template <class T>
ErrorCertificate find_proof(LinearSystem<T>& system, const std::optional<DenseView<T>>& refined) {
  const bool inverse_first = !system.A.is_sparse() && system.may_use(Proof::approximate_inverse);
  std::string reason;
  if (inverse_first) {
    ErrorCertificate certificate = by_approximate_inverse(system, refined);
    if (certificate.proven() || system.options.cancel.stop_requested()) return certificate;
    reason = std::move(certificate.reason);
  }
  if (system.may_use(Proof::h_matrix) || system.may_use(Proof::positive_definite)) {
    ErrorCertificate certificate = by_sparse_factorization(system);
    if (certificate.proven() || system.options.cancel.stop_requested()) return certificate;
    if (reason.empty()) {
      reason = std::move(certificate.reason);
    } else if (reason != certificate.reason) {  // both are equal if both proofs found a NaN
      reason += "; " + certificate.reason;
    }
  }
  if (inverse_first || !system.may_use(Proof::approximate_inverse)) return refusal(reason);
  const bool chosen = system.options.proof == Proof::approximate_inverse;
  if (system.A.rows() > largest_dense_order && !chosen) {
    return refusal(
        fmt::format("{}; above order {} a sparse A is not treated as dense unless that is asked for", reason,
                    largest_dense_order));
  }
  ErrorCertificate certificate = by_approximate_inverse(system, refined);
  if (!certificate.proven() && !reason.empty()) certificate.reason = reason + "; " + certificate.reason;
  return certificate;
}

template <class T>
ErrorCertificate certify_system(const MatrixRef<T>& A, const DenseView<const T>& B,
                                const DenseView<const T>& X, const CertifyOptions& options,
                                const std::optional<DenseView<T>>& refined) {
  check_shapes(A, B, X);
  // Check before the proofs, which take long.
  if (options.device) require(*options.device);
  if (std::fegetround() != FE_TONEAREST) return refusal("the processor does not round to nearest");
  LinearSystem<T> system{A, columns_of(B), columns_of(X), options};
  if (!all_finite(system.b) || !all_finite(system.x))
    return refusal("b or x has elements that are NaN or infinite");
  if (A.rows() == 0) {
    return certificate_of(Proof::h_matrix, "there are no unknowns", system,
                          [](const std::vector<double>& b, const std::vector<double>& /*x*/) { return b; });
  }
  return find_proof(system, refined);
}

}  // namespace

template <class T>
ErrorCertificate certify(MatrixRef<T> A, std::type_identity_t<DenseView<const T>> B,
                         std::type_identity_t<DenseView<const T>> X, const CertifyOptions& options) {
  return at_api_boundary([&] { return certify_system<T>(A, B, X, options, std::nullopt); });
}
template ErrorCertificate certify(MatrixRef<float>, DenseView<const float>, DenseView<const float>,
                                  const CertifyOptions&);
template ErrorCertificate certify(MatrixRef<double>, DenseView<const double>, DenseView<const double>,
                                  const CertifyOptions&);

template <class T>
ErrorCertificate refine_and_certify(MatrixRef<T> A, std::type_identity_t<DenseView<const T>> B,
                                    std::type_identity_t<DenseView<T>> X, const CertifyOptions& options) {
  return at_api_boundary([&] { return certify_system<T>(A, B, X, options, X); });
}
template ErrorCertificate refine_and_certify(MatrixRef<float>, DenseView<const float>, DenseView<float>,
                                             const CertifyOptions&);
template ErrorCertificate refine_and_certify(MatrixRef<double>, DenseView<const double>, DenseView<double>,
                                             const CertifyOptions&);

template <class T>
ErrorCertificate certify_answer(const MatrixRef<T>& A, DenseView<const T> B, DenseView<const T> X,
                                const Report& report, const CancellationToken& cancel) {
  if (report.columns.empty()) return nothing_to_certify(report);
  return certify<T>(A, B, X, {.cancel = cancel, .device = report.device});
}
template ErrorCertificate certify_answer(const MatrixRef<float>&, DenseView<const float>,
                                         DenseView<const float>, const Report&, const CancellationToken&);
template ErrorCertificate certify_answer(const MatrixRef<double>&, DenseView<const double>,
                                         DenseView<const double>, const Report&, const CancellationToken&);

template <class T>
CertifiedSolution<T> solve_certified(MatrixRef<T> A, std::type_identity_t<DenseView<const T>> B,
                                     const SolveOptions& options, CertifyOptions certify_options) {
  Solution<T> solution = solve<T>(A, B, options);
  CertifiedSolution<T> result{std::move(solution.x), std::move(solution.report), {}};
  if (result.report.columns.empty()) {
    result.certificate = nothing_to_certify(result.report);
    return result;
  }
  if (!certify_options.device) certify_options.device = result.report.device;
  if (!certify_options.cancel.stop_possible()) certify_options.cancel = options.cancel;
  result.certificate = certify_options.refine ? refine_and_certify<T>(A, B, result.x.view(), certify_options)
                                              : certify<T>(A, B, result.x.view(), certify_options);
  return result;
}
template CertifiedSolution<float> solve_certified(MatrixRef<float>, DenseView<const float>,
                                                  const SolveOptions&, CertifyOptions);
template CertifiedSolution<double> solve_certified(MatrixRef<double>, DenseView<const double>,
                                                   const SolveOptions&, CertifyOptions);

}  // namespace echelon
