// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/bddc/local/matrix.hpp"

#include <algorithm>

namespace echelon::bddc {

LocalMatrix::LocalMatrix(const SubdomainMatrix& subdomain, std::span<const std::int32_t> interface_place) {
  for (const std::int32_t unknown : subdomain.unknowns) {
    (interface_place[unknown] < 0 ? interior_ : boundary_).push_back(unknown);
  }
  std::vector<std::int32_t> place(subdomain.unknowns.size());
  std::int32_t next_interior = 0;
  auto next_boundary = static_cast<std::int32_t>(interior_.size());
  for (std::size_t i = 0; i < place.size(); ++i) {
    place[i] = interface_place[subdomain.unknowns[i]] < 0 ? next_interior++ : next_boundary++;
  }
  std::vector<Triplet<double>> triplets;
  const Csr<double>& given = subdomain.matrix;
  for (std::int64_t i = 0; i < given.rows(); ++i) {
    for (std::int64_t k = given.row_offsets()[i]; k < given.row_offsets()[i + 1]; ++k) {
      triplets.push_back({place[i], place[given.column_indices()[k]], given.values()[k]});
    }
  }
  matrix_ = Csr<double>::from_triplets(given.rows(), given.rows(), triplets);
  const auto first = static_cast<std::int32_t>(interior_.size());
  const std::int32_t* const columns = matrix_.column_indices().data();
  for (std::int64_t i = 0; i < matrix_.rows(); ++i) {
    first_boundary_.push_back(
        std::lower_bound(columns + matrix_.row_offsets()[i], columns + matrix_.row_offsets()[i + 1], first) -
        columns);
  }
}

Csr<double> LocalMatrix::principal(std::span<const std::int32_t> kept) const {
  std::vector<std::int32_t> place(static_cast<std::size_t>(matrix_.rows()), -1);
  for (std::size_t i = 0; i < kept.size(); ++i) place[kept[i]] = static_cast<std::int32_t>(i);
  std::vector<std::int64_t> offsets(1, 0);
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  for (const std::int32_t i : kept) {
    for (std::int64_t k = matrix_.row_offsets()[i]; k < matrix_.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = place[matrix_.column_indices()[k]];
      if (j < 0) continue;
      columns.push_back(j);
      values.push_back(matrix_.values()[k]);
    }
    offsets.push_back(std::ssize(columns));
  }
  const std::int64_t size = std::ssize(kept);
  return Csr<double>::unchecked(size, size,
                                Array<std::int64_t>(Device::serial(), std::span<const std::int64_t>(offsets)),
                                Array<std::int32_t>(Device::serial(), std::span<const std::int32_t>(columns)),
                                Array<double>(Device::serial(), std::span<const double>(values)));
}

void LocalMatrix::interior_from_boundary(const double* x_B, double* x_I) const {
  const std::int64_t size = interior_size();
  for (std::int64_t i = 0; i < size; ++i) {
    double sum = 0;
    for (std::int64_t k = first_boundary_[i]; k < matrix_.row_offsets()[i + 1]; ++k) {
      sum += matrix_.values()[k] * x_B[matrix_.column_indices()[k] - size];
    }
    x_I[i] = sum;
  }
}

void LocalMatrix::boundary_product(const double* x_B, double* y_B) const {
  const std::int64_t size = interior_size();
  for (std::int64_t i = size; i < matrix_.rows(); ++i) {
    double sum = 0;
    for (std::int64_t k = first_boundary_[i]; k < matrix_.row_offsets()[i + 1]; ++k) {
      sum += matrix_.values()[k] * x_B[matrix_.column_indices()[k] - size];
    }
    y_B[i - size] = sum;
  }
}

void LocalMatrix::subtract_from_boundary(const double* x_I, double* y_B) const {
  const std::int64_t size = interior_size();
  for (std::int64_t i = size; i < matrix_.rows(); ++i) {
    double sum = 0;
    for (std::int64_t k = matrix_.row_offsets()[i]; k < first_boundary_[i]; ++k) {
      sum += matrix_.values()[k] * x_I[matrix_.column_indices()[k]];
    }
    y_B[i - size] -= sum;
  }
}

}  // namespace echelon::bddc
