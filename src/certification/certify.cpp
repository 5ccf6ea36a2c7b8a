// SPDX-License-Identifier: BSD-3-Clause
// Certificates: the choice of the proof, and the worst bound over the columns.
#include "certification/h_matrix.hpp"
#include "certification/positive_definite.hpp"
#include "certification/residual_bound.hpp"
#include "certification/rounding.hpp"
#include "matrix/host_copy.hpp"

#include <echelon/certify.hpp>
#include <echelon/error.hpp>
#include <echelon/matrix/structure.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace echelon {

namespace {

using namespace certification;

/// A linear system in double precision on the host.
struct System {
  Csr<double> A;
  std::vector<std::vector<double>> b;
  std::vector<std::vector<double>> x;
  Device device;
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
std::vector<std::vector<double>> columns_of(const DenseView<const T>& matrix) {
  const HostCopy<T> copy{MatrixRef<T>(matrix)};
  const DenseView<const T>& view = copy.matrix().dense();
  std::vector<std::vector<double>> columns;
  for (std::int64_t j = 0; j < view.columns(); ++j) {
    std::vector<double>& column = columns.emplace_back();
    for (std::int64_t i = 0; i < view.rows(); ++i) column.push_back(static_cast<double>(view(i, j)));
  }
  return columns;
}

template <class T>
void check_shapes(const MatrixRef<T>& A, const DenseView<const T>& B, const DenseView<const T>& X) {
  if (A.is_operator()) throw Error("a certificate needs the elements of A, and an operator has none");
  if (A.rows() != A.columns()) {
    throw DimensionMismatch(
        fmt::format("A is {} by {}; a certificate needs a square matrix", A.rows(), A.columns()));
  }
  if (B.rows() != A.rows() || X.rows() != A.rows() || B.columns() != X.columns()) {
    throw DimensionMismatch(fmt::format("A is {} by {}, B is {} by {}, and X is {} by {}", A.rows(),
                                        A.columns(), B.rows(), B.columns(), X.rows(), X.columns()));
  }
}

template <class T>
System system_on_host(const MatrixRef<T>& A, const DenseView<const T>& B, const DenseView<const T>& X) {
  const HostCopy<T> copy(A);
  const MatrixRef<T>& host = copy.matrix();
  return {in_double(host.is_sparse() ? *host.csr() : to_csr(host)), columns_of(B), columns_of(X),
          A.device().on_host() ? A.device() : Device()};
}

/// Infinite if an element is NaN.
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

/// Raises the bounds of a certificate to hold for a column with max |x_i - x*_i| <= `bound`.
void include_column(ErrorCertificate& certificate, double bound, double x_norm) {
  certificate.error_bound = std::max(certificate.error_bound, bound);
  const double least = subtract_down(x_norm, bound);  // of max |x*_i|
  const double relative = bound == 0  ? 0
                          : least > 0 ? divide_up(bound, least)
                                      : std::numeric_limits<double>::infinity();
  certificate.relative_error_bound = std::max(certificate.relative_error_bound, relative);
}

ErrorCertificate without_columns(Proof proof, std::string reason) {
  return {proof, std::move(reason), 0, 0, std::nullopt};
}

/// Empty if A is not proven to be an H-matrix.
std::optional<ErrorCertificate> by_comparison_matrix(const System& system, bool symmetric,
                                                     const std::stop_token& cancel) {
  const ComparisonMatrix comparison(system.A, symmetric, system.device, cancel);
  if (!comparison.is_h_matrix()) return std::nullopt;
  ErrorCertificate certificate =
      without_columns(Proof::h_matrix, "A is an H-matrix: a vector v > 0 with <A> v > 0 was found");
  for (std::size_t c = 0; c < system.x.size(); ++c) {
    const std::vector<double> bounds =
        comparison.bound_inverse_times(residual_bound(system.A, system.b[c], system.x[c]));
    include_column(certificate, largest_magnitude(bounds), largest_magnitude(system.x[c]));
  }
  return certificate;
}

ErrorCertificate by_smallest_eigenvalue(const System& system, const std::stop_token& cancel) {
  const EigenvalueBound eigenvalue = bound_smallest_eigenvalue(system.A, system.device, cancel);
  if (!eigenvalue.scaled_bound) {
    return refusal("A is not an H-matrix, as far as can be proven, nor positive definite: " +
                   eigenvalue.reason);
  }
  ErrorCertificate certificate = without_columns(
      Proof::positive_definite,
      fmt::format(
          "A is positive definite with smallest eigenvalue >= {:.3e}: the Cholesky factorisation of a "
          "shifted A ran to its end",
          eigenvalue.bound()));
  certificate.smallest_eigenvalue = eigenvalue.bound();
  for (std::size_t c = 0; c < system.x.size(); ++c) {
    include_column(certificate,
                   eigenvalue.bound_inverse_times(residual_bound(system.A, system.b[c], system.x[c])),
                   largest_magnitude(system.x[c]));
  }
  return certificate;
}

ErrorCertificate find_proof(const System& system, const std::stop_token& cancel) {
  const Structure structure = analyze_structure(MatrixRef<double>(system.A));
  if (structure.nonfinite_row) return refusal("A has elements that are NaN or infinite");
  if (!all_finite(system.b) || !all_finite(system.x))
    return refusal("b or x has elements that are NaN or infinite");
  if (system.A.rows() == 0) return without_columns(Proof::h_matrix, "there are no unknowns");
  if (structure.zero_diagonals == 0) {
    if (auto certificate = by_comparison_matrix(system, structure.symmetric_values, cancel))
      return *certificate;
  }
  if (cancel.stop_requested()) return refusal("stopped by the caller");
  if (!structure.symmetric_values) {
    return refusal("A is not symmetric, and no vector v > 0 with <A> v > 0 was found");
  }
  if (structure.positive_diagonals < structure.rows) {
    return refusal(
        "A has diagonal elements that are not positive, and no vector v > 0 with <A> v > 0 was found");
  }
  return by_smallest_eigenvalue(system, cancel);
}

ErrorCertificate certify_system(const System& system, const std::stop_token& cancel) {
  ErrorCertificate certificate = find_proof(system, cancel);
  if (certificate.proven() && !std::isfinite(certificate.error_bound)) {
    return refusal("the residual of x, or the bound on its error, exceeds the range of double precision");
  }
  return certificate;
}

}  // namespace

template <class T>
ErrorCertificate certify(MatrixRef<T> A, std::type_identity_t<DenseView<const T>> B,
                         std::type_identity_t<DenseView<const T>> X, const CertifyOptions& options) {
  check_shapes(A, B, X);
  return certify_system(system_on_host(A, B, X), options.cancel);
}
template ErrorCertificate certify(MatrixRef<float>, DenseView<const float>, DenseView<const float>,
                                  const CertifyOptions&);
template ErrorCertificate certify(MatrixRef<double>, DenseView<const double>, DenseView<const double>,
                                  const CertifyOptions&);

}  // namespace echelon
