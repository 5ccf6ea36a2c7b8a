// SPDX-License-Identifier: BSD-3-Clause
/// Interiors of all subdomains on a GPU.
///
/// The subdomain matrices, their interiors first, are the diagonal blocks of one matrix. One multifrontal
/// factorisation eliminates the interiors of as many subdomains as fit into memory, in batches over all of
/// them, and leaves a Schur complement for each.
#pragma once

#include "domain_decomposition/bddc/preconditioner/preconditioner.hpp"
#include "sparse_direct/multifrontal/device_factorization.hpp"

#include <echelon/array.hpp>
#include <echelon/cancellation.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace echelon::bddc {

/// Copies a vector of the host to an array of the device.
template <class V>
Array<V> to_device(const Device& device, const std::vector<V>& host) {
  return Array<V>(device, std::span<const V>(host));
}

/// Schur complements of all subdomains on a GPU, column-major: that of subdomain s at S + begin[s].
struct DeviceComplements {
  double* S;
  const std::vector<std::int64_t>& begin;
};

/// Vectors have an element for each row of the subdomain matrices, one after the other.
class DeviceInteriors {
 public:
  /// Analyses the subdomain matrices on `threads` threads of the host, those of one pattern once.
  [[nodiscard]] Outcome analyze(const BddcPreconditioner& host, int threads, const CancellationToken& cancel);
  /// Factors the interiors and writes the Schur complements, both triangles.
  [[nodiscard]] Outcome factor(const BddcPreconditioner& host, const Device& device,
                               const DeviceComplements& complements, const CancellationToken& cancel);

  /// Rows of all subdomain matrices, and the first row of each subdomain and the end.
  [[nodiscard]] std::int64_t rows() const { return row_begin_.empty() ? 0 : row_begin_.back(); }
  [[nodiscard]] const std::vector<std::int64_t>& row_begin() const { return row_begin_; }
  [[nodiscard]] std::int64_t workspace_size() const;
  /// x_I = A_II^-1 (b_I - A_IB b_B) in all subdomains, and x_B = b_B; in place.
  void solve(double* x, double* workspace) const;
  /// y_B = -A_BI x_I along the boundaries of all subdomains.
  void multiply_boundaries(const double* x, double* y) const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  /// Subdomains [begin, end), which are factored together.
  struct Group {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    Csr<double> matrix;                 // on the GPU
    Array<std::int32_t> boundary_rows;  // of the matrix, subdomain by subdomain
    Array<std::int32_t> interior_end;   // of the subdomain of each of them
    std::optional<sparse_direct::DeviceFactorization<double>> factorization;
  };
  /// Arguments of factor().
  struct Request {
    const BddcPreconditioner& host;
    const DeviceComplements& complements;
    const CancellationToken& cancel;
  };

  [[nodiscard]] std::vector<std::int64_t> find_patterns(const BddcPreconditioner& host);
  [[nodiscard]] Outcome factor_range(const Request& request, std::int64_t begin, std::int64_t end);
  [[nodiscard]] Outcome factor_halves(const Request& request, std::int64_t begin, std::int64_t end);
  [[nodiscard]] Outcome factor_group(const Request& request, std::int64_t begin, std::int64_t end,
                                     sparse_direct::DeviceFactorization<double> factorization,
                                     const Csr<double>& matrix);
  [[nodiscard]] Csr<double> join_matrices(const BddcPreconditioner& host, std::int64_t begin,
                                          std::int64_t end) const;
  void complete_complements(const Request& request, Group& group) const;

  Device device_;
  int threads_ = 1;
  std::vector<sparse_direct::SymbolicFactor> symbolic_;  // of each pattern, until the factorisation
  std::vector<std::int64_t> pattern_;                    // number of each subdomain's pattern
  std::vector<std::int64_t> row_begin_;                  // of each subdomain
  std::vector<std::int64_t> place_begin_;                // of each along the boundaries
  std::vector<Group> groups_;
};

}  // namespace echelon::bddc
