// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/cuda.cuh"
#include "backend/device/memory.hpp"
#include "domain_decomposition/bddc/cuda/interiors.hpp"
#include "sparse_direct/multifrontal/analysis.hpp"
#include "sparse_direct/symbolic/equal_patterns.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

namespace echelon::bddc {

namespace {

using sparse_direct::DeviceFactorization;
using sparse_direct::FactorEnd;
using sparse_direct::FactorKind;
using sparse_direct::FactorResult;
using sparse_direct::SymbolicFactor;

/// Rows of a group's matrix on boundaries.
struct BoundaryRows {
  const std::int32_t* rows;
  const std::int32_t* interior_end;  ///< of the subdomain of each
  const std::int64_t* row_offsets;
  const std::int32_t* columns;
  const double* values;
};

/// y(k) = -(A_BI x_I) in boundary row k.
struct MultiplyBoundaryRows {
  BoundaryRows boundary;
  const double* x;
  double* y;
  __device__ void operator()(std::int64_t k) const {
    const std::int32_t row = boundary.rows[k];
    const std::int32_t end = boundary.interior_end[k];
    double sum = 0;
    for (std::int64_t e = boundary.row_offsets[row]; e < boundary.row_offsets[row + 1]; ++e) {
      const std::int32_t j = boundary.columns[e];
      if (j >= end) break;  // columns ascend, and the interior comes first
      sum -= boundary.values[e] * x[j];
    }
    y[k] = sum;
  }
};

/// Place of a boundary row in the Schur complement of its subdomain.
struct ComplementRow {
  const std::int32_t* size;   ///< of the Schur complement of each boundary row
  const std::int64_t* begin;  ///< and its place in S
};

/// Adds the elements of A_BB in the lower triangle to S.
struct AddBoundaryBlock {
  BoundaryRows boundary;
  ComplementRow complement;
  double* S;
  __device__ void operator()(std::int64_t k) const {
    const std::int32_t row = boundary.rows[k];
    const std::int32_t end = boundary.interior_end[k];
    double* const own = S + complement.begin[k];
    const std::int64_t i = row - end;
    for (std::int64_t e = boundary.row_offsets[row]; e < boundary.row_offsets[row + 1]; ++e) {
      const std::int64_t j = boundary.columns[e] - end;
      if (j >= 0 && j <= i) own[i + j * complement.size[k]] += boundary.values[e];
    }
  }
};

/// Copies the row of S left of the diagonal to the column above it.
struct MirrorRow {
  BoundaryRows boundary;
  ComplementRow complement;
  double* S;
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t i = boundary.rows[k] - boundary.interior_end[k];
    const std::int64_t size = complement.size[k];
    double* const own = S + complement.begin[k];
    for (std::int64_t j = 0; j < i; ++j) own[j + i * size] = own[i + j * size];
  }
};

/// Calls f(row, column, value) for the elements of a subdomain matrix, row by row, with the identity in the
/// first `omitted` rows and columns.
template <class F>
void for_kept_elements(const Csr<double>& A, std::int64_t omitted, F f) {
  for (std::int64_t i = 0; i < omitted; ++i) f(i, i, 1.0);
  for (std::int64_t i = omitted; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = A.column_indices()[k];
      if (j >= omitted) f(i, std::int64_t{j}, A.values()[k]);
    }
  }
}

std::uint64_t hash_of_pattern(const LocalMatrix& matrix) {
  const Csr<double>& A = matrix.matrix();
  auto hash = static_cast<std::uint64_t>(matrix.boundary_size());
  const auto add = [&](std::int64_t value) {
    hash = hash_bits(hash + golden_ratio_64 + static_cast<std::uint64_t>(value));
  };
  for (const std::int64_t offset : A.row_offsets().span()) add(offset);
  for (const std::int32_t column : A.column_indices().span()) add(column);
  return hash;
}

bool have_equal_patterns(const LocalMatrix& a, const LocalMatrix& b) {
  return a.boundary_size() == b.boundary_size() && sparse_direct::have_equal_patterns(a.matrix(), b.matrix());
}

SymbolicFactor analyze_subdomain(const LocalMatrix& matrix) {
  std::vector<std::int32_t> boundary(static_cast<std::size_t>(matrix.boundary_size()));
  std::iota(boundary.begin(), boundary.end(), static_cast<std::int32_t>(matrix.interior_size()));
  const sparse_direct::AnalysisOptions options{
      .ordering = {.ordering = Ordering::dissection, .threads = 1, .for_gpu = true}};
  return sparse_direct::analyze_bordered(matrix.matrix(), boundary, options);
}

template <class Group>
BoundaryRows boundary_of(const Group& group) {
  return {group.boundary_rows.data(), group.interior_end.data(), group.matrix.row_offsets().data(),
          group.matrix.column_indices().data(), group.matrix.values().data()};
}

}  // namespace

Outcome DeviceInteriors::analyze(const BddcPreconditioner& host, int threads,
                                 const CancellationToken& cancel) {
  const std::vector<LocalProblem>& locals = host.locals();
  threads_ = threads;
  row_begin_ = place_begin_ = {0};
  for (const LocalProblem& local : locals) {
    row_begin_.push_back(row_begin_.back() + local.matrix().matrix().rows());
    place_begin_.push_back(place_begin_.back() + local.matrix().boundary_size());
  }
  const std::vector<std::int64_t> first = find_patterns(host);
  symbolic_.assign(first.size(), {});
  return host.for_all(threads, [&](std::int64_t p) -> Outcome {
    if (p >= std::ssize(first)) return {};
    if (cancel.stop_requested()) return {Status::cancelled, "stopped by the caller"};
    symbolic_[p] = analyze_subdomain(locals[first[p]].matrix());
    return {};
  });
}

/// Numbers the patterns, and returns the first subdomain with each.
std::vector<std::int64_t> DeviceInteriors::find_patterns(const BddcPreconditioner& host) {
  const std::vector<LocalProblem>& locals = host.locals();
  std::vector<std::uint64_t> hashes(locals.size());
  const Outcome hashed = host.for_all(threads_, [&](std::int64_t s) -> Outcome {
    hashes[s] = hash_of_pattern(locals[s].matrix());
    return {};
  });
  std::vector<std::int64_t> first;
  std::unordered_multimap<std::uint64_t, std::int64_t> found;  // numbers of patterns
  pattern_.assign(locals.size(), -1);
  for (std::size_t s = 0; s < locals.size() && hashed.ok(); ++s) {
    const auto [begin, end] = found.equal_range(hashes[s]);
    for (auto entry = begin; entry != end && pattern_[s] < 0; ++entry) {
      if (have_equal_patterns(locals[s].matrix(), locals[first[entry->second]].matrix()))
        pattern_[s] = entry->second;
    }
    if (pattern_[s] >= 0) continue;
    pattern_[s] = std::ssize(first);
    found.emplace(hashes[s], pattern_[s]);
    first.push_back(static_cast<std::int64_t>(s));
  }
  return first;
}

Outcome DeviceInteriors::factor(const BddcPreconditioner& host, const Device& device,
                                const DeviceComplements& complements, const CancellationToken& cancel) {
  device_ = device;
  groups_.clear();
  Outcome outcome = factor_range({host, complements, cancel}, 0, std::ssize(pattern_));
  symbolic_.clear();
  return outcome;
}

/// Factors subdomains [begin, end) together, or the halves of them one after the other if the memory does not
/// suffice.
Outcome DeviceInteriors::factor_range(const Request& request, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t most = 32768;  // blocks of a launch in the second dimension
  if (begin == end) return {};
  if (end - begin > most) return factor_halves(request, begin, end);
  std::vector<const SymbolicFactor*> parts;
  for (std::int64_t s = begin; s < end; ++s) parts.push_back(&symbolic_[pattern_[s]]);
  DeviceFactorization<double> factorization(device_, FactorKind::cholesky, parts);
  const Csr<double> matrix = join_matrices(request.host, begin, end);
  const std::size_t bytes = factorization.memory(matrix.nonzeros()).total() + 2 * matrix.bytes();
  if (bytes <= memory(device_).available)
    return factor_group(request, begin, end, std::move(factorization), matrix);
  if (end - begin > 1) return factor_halves(request, begin, end);
  return request.host.in_subdomain(
      begin, {Status::out_of_memory, "its factorisation takes about " + byte_count(bytes) +
                                         " on the GPU, and " + byte_count(memory(device_).available) +
                                         " are available; more subdomains are smaller"});
}

Outcome DeviceInteriors::factor_halves(const Request& request, std::int64_t begin, std::int64_t end) {
  const std::int64_t middle = (begin + end) / 2;
  if (Outcome outcome = factor_range(request, begin, middle); !outcome.ok()) return outcome;
  return factor_range(request, middle, end);
}

Outcome DeviceInteriors::factor_group(const Request& request, std::int64_t begin, std::int64_t end,
                                      DeviceFactorization<double> factorization, const Csr<double>& matrix) {
  Group group;
  group.begin = begin;
  group.end = end;
  group.matrix = matrix.to(device_);
  group.factorization.emplace(std::move(factorization));
  group.factorization->allocate(matrix.row_offsets().span(), matrix.column_indices().span());
  const FactorResult result = group.factorization->partial(
      {group.matrix.row_offsets().data(), group.matrix.column_indices().data(), group.matrix.values().data()},
      request.complements.S + request.complements.begin[begin], request.cancel);
  if (result.end == FactorEnd::cancelled) return {Status::cancelled, "stopped by the caller"};
  if (result.end == FactorEnd::no_pivot) {
    const std::int64_t row = row_begin_[begin] + result.failed->column;
    const auto after = std::upper_bound(row_begin_.begin(), row_begin_.end(), row);
    return request.host.in_subdomain(after - row_begin_.begin() - 1,
                                     {Status::not_spd, "its interior is not positive definite"});
  }
  complete_complements(request, group);
  groups_.push_back(std::move(group));
  return {};
}

/// The block diagonal matrix of subdomains [begin, end). Of the first unknowns of a singular interior, which
/// stay 0, it has the identity.
Csr<double> DeviceInteriors::join_matrices(const BddcPreconditioner& host, std::int64_t begin,
                                           std::int64_t end) const {
  const std::vector<LocalProblem>& locals = host.locals();
  std::vector<std::int64_t> first(static_cast<std::size_t>(end - begin) + 1, 0);
  for (std::int64_t s = begin; s < end; ++s) {
    const Csr<double>& A = locals[s].matrix().matrix();
    std::int64_t kept = 0;
    for_kept_elements(A, locals[s].omitted(), [&](std::int64_t, std::int64_t, double) { ++kept; });
    first[s - begin + 1] = first[s - begin] + kept;
  }
  const std::int64_t rows = row_begin_[end] - row_begin_[begin];
  Array<std::int64_t> offsets(Device::serial(), rows + 1);
  Array<std::int32_t> columns(Device::serial(), first.back());
  Array<double> values(Device::serial(), first.back());
  offsets[rows] = first.back();
  const Outcome joined = host.for_all(threads_, [&](std::int64_t s) -> Outcome {
    if (s < begin || s >= end) return {};
    const std::int64_t row = row_begin_[s] - row_begin_[begin];
    std::int64_t place = first[s - begin];
    std::int64_t started = 0;  // rows
    for_kept_elements(locals[s].matrix().matrix(), locals[s].omitted(),
                      [&](std::int64_t i, std::int64_t j, double value) {
                        for (; started <= i; ++started) offsets[row + started] = place;
                        columns[place] = static_cast<std::int32_t>(row + j);
                        values[place++] = value;
                      });
    for (; started < locals[s].matrix().matrix().rows(); ++started) offsets[row + started] = place;
    return {};
  });
  (void)joined;
  return Csr<double>::unchecked(rows, rows, std::move(offsets), std::move(columns), std::move(values));
}

/// Lists the boundary rows, adds A_BB to the lower triangles of the Schur complements, and copies these to
/// the upper ones.
void DeviceInteriors::complete_complements(const Request& request, Group& group) const {
  std::vector<std::int32_t> rows, interior_end, sizes;
  std::vector<std::int64_t> begin;
  for (std::int64_t s = group.begin; s < group.end; ++s) {
    const LocalMatrix& own = request.host.locals()[s].matrix();
    const auto first =
        static_cast<std::int32_t>(row_begin_[s] - row_begin_[group.begin] + own.interior_size());
    for (std::int64_t i = 0; i < own.boundary_size(); ++i) {
      rows.push_back(first + static_cast<std::int32_t>(i));
      interior_end.push_back(first);
      sizes.push_back(static_cast<std::int32_t>(own.boundary_size()));
      begin.push_back(request.complements.begin[s]);
    }
  }
  group.boundary_rows = to_device(device_, rows);
  group.interior_end = to_device(device_, interior_end);
  const Array<std::int32_t> size_of_row = to_device(device_, sizes);
  const Array<std::int64_t> begin_of_row = to_device(device_, begin);
  const ComplementRow complement{size_of_row.data(), begin_of_row.data()};
  Cuda backend(device_);
  backend.for_each(std::ssize(rows), AddBoundaryBlock{boundary_of(group), complement, request.complements.S});
  backend.for_each(std::ssize(rows), MirrorRow{boundary_of(group), complement, request.complements.S});
  backend.synchronize();
}

std::int64_t DeviceInteriors::workspace_size() const {
  std::int64_t size = 0;
  for (const Group& group : groups_) size = std::max(size, group.factorization->workspace_size(1));
  return size;
}

void DeviceInteriors::solve(double* x, double* workspace) const {
  for (const Group& group : groups_) {
    double* const own = x + row_begin_[group.begin];
    const std::int64_t rows = group.matrix.rows();
    group.factorization->solve(false, 1, own, rows, own, rows, workspace);
  }
}

void DeviceInteriors::multiply_boundaries(const double* x, double* y) const {
  Cuda backend(device_);
  for (const Group& group : groups_) {
    backend.for_each(
        group.boundary_rows.size(),
        MultiplyBoundaryRows{boundary_of(group), x + row_begin_[group.begin], y + place_begin_[group.begin]});
  }
}

std::size_t DeviceInteriors::bytes() const {
  std::size_t bytes = 0;
  for (const Group& group : groups_) {
    bytes += group.matrix.bytes() + group.boundary_rows.bytes() + group.interior_end.bytes() +
             group.factorization->bytes();
  }
  return bytes;
}

}  // namespace echelon::bddc
