// SPDX-License-Identifier: BSD-3-Clause
#include "problem.hpp"

#include <echelon/error.hpp>
#include <echelon/io/petsc.hpp>
#include <echelon/matrix/transform.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <utility>
#include <variant>

namespace echelon::petsc {

namespace {

Dense<double> read_columns(const std::string& path) {
  return std::get<Dense<double>>(read_petsc<double>(path).matrix);
}

/// Makes the columns orthonormal by two passes of Gram and Schmidt's method; columns that depend on earlier
/// ones vanish.
Dense<double> orthonormal(Dense<double> V) {
  constexpr double dependent = 1e-10;
  std::int64_t kept = 0;
  for (std::int64_t j = 0; j < V.columns(); ++j) {
    double* const v = V.view().column(j);
    const double before = std::sqrt(std::inner_product(v, v + V.rows(), v, 0.0));
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t i = 0; i < kept; ++i) {
        const double* const q = V.view().column(i);
        const double product = std::inner_product(q, q + V.rows(), v, 0.0);
        for (std::int64_t k = 0; k < V.rows(); ++k) v[k] -= product * q[k];
      }
    }
    const double norm = std::sqrt(std::inner_product(v, v + V.rows(), v, 0.0));
    if (!(norm > dependent * before)) continue;
    double* const q = V.view().column(kept++);
    std::transform(v, v + V.rows(), q, [norm](double value) { return value / norm; });
  }
  Dense<double> result(Device::serial(), V.rows(), kept);
  std::copy_n(V.data(), V.rows() * kept, result.data());
  return result;
}

/// Rows in the order of their parts, which the sort keeps within each part.
Array<std::int32_t> order_of(const std::vector<std::int32_t>& part) {
  Array<std::int32_t> order(Device::serial(), std::ssize(part));
  std::iota(order.data(), order.data() + order.size(), 0);
  std::stable_sort(order.data(), order.data() + order.size(),
                   [&](std::int32_t i, std::int32_t j) { return part[i] < part[j]; });
  return order;
}

}  // namespace

Problem::Problem(std::string folder, std::int64_t parts, std::int64_t block_size, Division division)
    : folder_(std::move(folder)) {
  const std::filesystem::path files(folder_);
  Csr<double> A = std::get<Csr<double>>(read_petsc<double>(files / exchange::matrix).matrix);
  const std::vector<std::int32_t> part = partition_rows(A, parts, block_size);
  order_ = order_of(part);
  rows_of_parts_.assign(static_cast<std::size_t>(parts), 0);
  for (const std::int32_t p : part) ++rows_of_parts_[p];
  if (division == Division::rows) {
    A_ = permute_symmetric(A, order_);
  } else {
    subdomains_ = subdomain_matrices(A, part, block_size);
    std::vector<std::int32_t> place(part.size());
    for (std::int64_t k = 0; k < order_.size(); ++k) place[order_[k]] = static_cast<std::int32_t>(k);
    for (SubdomainMatrix& subdomain : subdomains_) {
      for (std::int32_t& unknown : subdomain.unknowns) unknown = place[unknown];
    }
  }
  right_hand_sides_ = reordered(read_columns(files / exchange::right_hand_sides));
  if (std::filesystem::exists(files / exchange::near_null_space))
    near_null_space_ = orthonormal(reordered(read_columns(files / exchange::near_null_space)));
}

Dense<double> Problem::reordered(const Dense<double>& columns) const {
  Dense<double> result(Device::serial(), columns.rows(), columns.columns());
  for (std::int64_t j = 0; j < columns.columns(); ++j) {
    for (std::int64_t k = 0; k < order_.size(); ++k) result(k, j) = columns(order_[k], j);
  }
  return result;
}

Part Problem::part(std::int64_t p) const {
  const bool whole_rows = subdomains_.empty();
  const Csr<double>& matrix = whole_rows ? A_ : subdomains_[p].matrix;
  const std::int64_t begin =
      whole_rows ? std::accumulate(rows_of_parts_.begin(), rows_of_parts_.begin() + p, std::int64_t{0}) : 0;
  const std::int64_t end = whole_rows ? begin + rows_of_parts_[p] : matrix.rows();
  const std::int64_t first = matrix.row_offsets()[begin];
  const std::int64_t last = matrix.row_offsets()[end];
  if (last - first > std::numeric_limits<std::int32_t>::max()) {
    throw Error("part " + std::to_string(p) + " has " + std::to_string(last - first) +
                " elements, more than 32 bits count: use more processes");
  }
  Part result;
  if (!whole_rows) result.unknowns = subdomains_[p].unknowns;
  for (std::int64_t i = begin; i <= end; ++i)
    result.offsets.push_back(static_cast<std::int32_t>(matrix.row_offsets()[i] - first));
  result.columns.assign(matrix.column_indices().data() + first, matrix.column_indices().data() + last);
  result.values.assign(matrix.values().data() + first, matrix.values().data() + last);
  return result;
}

std::int64_t Problem::shared_unknowns() const {
  std::vector<std::int32_t> subdomains_of(static_cast<std::size_t>(order_.size()), 0);
  for (const SubdomainMatrix& subdomain : subdomains_) {
    for (const std::int32_t unknown : subdomain.unknowns) ++subdomains_of[unknown];
  }
  return std::ranges::count_if(subdomains_of, [](std::int32_t count) { return count > 1; });
}

void Problem::write_solution(const Dense<double>& X) const {
  Dense<double> result(Device::serial(), X.rows(), X.columns());
  for (std::int64_t j = 0; j < X.columns(); ++j) {
    for (std::int64_t k = 0; k < order_.size(); ++k) result(order_[k], j) = X(k, j);
  }
  write_petsc(std::filesystem::path(folder_) / exchange::solution, MatrixRef<double>(result));
}

}  // namespace echelon::petsc
