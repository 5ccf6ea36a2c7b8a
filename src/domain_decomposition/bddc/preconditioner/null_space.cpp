// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/bddc/preconditioner/null_space.hpp"

#include "backend/host/host.hpp"
#include "domain_decomposition/bddc/preconditioner/orthonormal.hpp"
#include "domain_decomposition/bddc/subdomains/parallel.hpp"
#include "domain_decomposition/bddc/subdomains/partition.hpp"
#include "linalg/blas/decompositions.hpp"
#include "linalg/constant_modes.hpp"
#include "linalg/dominance.hpp"

#include <echelon/array.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

namespace echelon::bddc {

namespace {

using Columns = std::vector<std::vector<double>>;

/// Products p^T K q of all columns p and q of a basis, and the largest |element| of K.
struct Energy {
  std::vector<double> products;
  double largest = 0;
};

/// Contribution of the rows [begin, end) of a component. `place[i]` is the place of row i in the component.
Energy energy_of_rows(const Csr<double>& K, const std::vector<std::int32_t>& rows,
                      const std::vector<std::int32_t>& place, const Columns& basis, std::int64_t begin,
                      std::int64_t end) {
  const auto size = static_cast<std::int64_t>(basis.size());
  Energy energy{std::vector<double>(basis.size() * basis.size(), 0.0)};
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t i = rows[r];
    for (std::int64_t k = K.row_offsets()[i]; k < K.row_offsets()[i + 1]; ++k) {
      const std::int32_t c = place[K.column_indices()[k]];
      energy.largest = std::max(energy.largest, std::abs(K.values()[k]));
      for (std::int64_t a = 0; a < size; ++a) {
        for (std::int64_t b = 0; b < size; ++b) {
          energy.products[a * size + b] += basis[a][r] * K.values()[k] * basis[b][c];
        }
      }
    }
  }
  return energy;
}

/// The energy of a component: parts of fixed size on all cores, added in their order.
Energy energy_of(const Csr<double>& K, const std::vector<std::int32_t>& rows,
                 const std::vector<std::int32_t>& place, const Columns& basis) {
  constexpr std::int64_t rows_of_part = 4096;
  const std::int64_t count = std::ssize(rows);
  std::vector<Energy> parts(static_cast<std::size_t>((count + rows_of_part - 1) / rows_of_part));
  for_subdomains(Device().threads(), std::ssize(parts), [&](std::int64_t p) {
    parts[p] =
        energy_of_rows(K, rows, place, basis, p * rows_of_part, std::min((p + 1) * rows_of_part, count));
  });
  Energy sum{std::vector<double>(basis.size() * basis.size(), 0.0)};
  for (const Energy& part : parts) {
    sum.largest = std::max(sum.largest, part.largest);
    for (std::size_t k = 0; k < sum.products.size(); ++k) sum.products[k] += part.products[k];
  }
  return sum;
}

/// Combinations of the basis that K maps to zero, where K is restricted to a component's rows.
Columns null_combinations(const Csr<double>& K, const std::vector<std::int32_t>& rows,
                          const std::vector<std::int32_t>& place, const Columns& basis, double tolerance) {
  const auto size = static_cast<std::int64_t>(basis.size());
  auto [energy, largest] = energy_of(K, rows, place, basis);
  std::vector<double> eigenvalues(basis.size());
  Columns result;
  if (size == 0 || !lapack::symmetric_eigenvectors(static_cast<int>(size), energy.data(), eigenvalues.data()))
    return result;
  for (std::int64_t e = 0; e < size; ++e) {
    if (!(eigenvalues[e] <= tolerance * largest)) continue;
    std::vector<double> column(rows.size(), 0.0);
    for (std::int64_t a = 0; a < size; ++a) {
      for (std::size_t i = 0; i < column.size(); ++i) column[i] += energy[e * size + a] * basis[a][i];
    }
    result.push_back(std::move(column));
  }
  return result;
}

/// Orthonormal basis of the constant and of the columns; the constant is the first.
Columns with_constant(const Columns& columns, std::int64_t rows) {
  Dense<double> vectors(Device(), rows, 1 + std::ssize(columns));
  std::fill_n(vectors.data(), rows, 1.0);
  for (std::size_t k = 0; k < columns.size(); ++k) {
    std::copy_n(columns[k].data(), rows, vectors.data() + (static_cast<std::int64_t>(k) + 1) * rows);
  }
  std::vector<std::int32_t> all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  return orthonormal_basis(all, vectors);
}

/// Corrects the null vectors of a component by what is known about the constant.
void apply_constant_mode(ConstantMode mode, NullSpacePart& part) {
  if (mode != ConstantMode::singular && (mode != ConstantMode::weak || part.columns.empty())) return;
  part.columns = with_constant(part.columns, std::ssize(part.rows));
  part.is_proven = mode == ConstantMode::singular;
  if (!part.is_proven) part.columns.erase(part.columns.begin());
}

/// The null vectors of each component, of which there may be none.
std::vector<NullSpacePart> null_vectors(const Csr<double>& K, const Partition& components,
                                        const Dense<double>& vectors, double tolerance) {
  std::vector<NullSpacePart> parts(static_cast<std::size_t>(components.parts));
  std::vector<std::int32_t> place(components.part.size());
  for (std::size_t i = 0; i < place.size(); ++i) {
    std::vector<std::int32_t>& rows = parts[components.part[i]].rows;
    place[i] = static_cast<std::int32_t>(rows.size());
    rows.push_back(static_cast<std::int32_t>(i));
  }
  for (NullSpacePart& part : parts) {
    part.columns = null_combinations(K, part.rows, place, orthonormal_basis(part.rows, vectors), tolerance);
  }
  return parts;
}

void omit_without_columns(std::vector<NullSpacePart>& parts) {
  std::erase_if(parts, [](const NullSpacePart& part) { return part.columns.empty(); });
}

}  // namespace

std::vector<NullSpacePart> null_space(const Csr<double>& K, const Dense<double>& vectors, double tolerance) {
  std::vector<NullSpacePart> parts = null_vectors(K, connected_components(K), vectors, tolerance);
  omit_without_columns(parts);
  return parts;
}

std::vector<NullSpacePart> null_space_by_row_sums(const Csr<double>& A, const Dense<double>& vectors,
                                                  double tolerance, double roundoff) {
  const Partition components = connected_components(A);
  std::vector<NullSpacePart> parts = null_vectors(A, components, vectors, tolerance);
  Host backend{Device()};
  const Array<std::int32_t> part(Device(), std::span<const std::int32_t>(components.part));
  const std::vector<ComponentSum> sums =
      sum_components(backend, sum_rows_exactly(backend, A), part, components.parts);
  for (std::size_t c = 0; c < parts.size(); ++c) apply_constant_mode(sums[c].mode(roundoff), parts[c]);
  omit_without_columns(parts);
  return parts;
}

OutsideRange remove_null_space(const std::vector<NullSpacePart>& parts, std::vector<double>& b) {
  double proven = 0;
  double rounded = 0;
  for (const NullSpacePart& part : parts) {
    for (std::size_t k = 0; k < part.columns.size(); ++k) {
      const std::vector<double>& vector = part.columns[k];
      double product = 0;
      for (std::size_t i = 0; i < vector.size(); ++i) product += vector[i] * b[part.rows[i]];
      for (std::size_t i = 0; i < vector.size(); ++i) b[part.rows[i]] -= product * vector[i];
      (part.is_proven && k == 0 ? proven : rounded) += product * product;
    }
  }
  return {std::sqrt(proven), std::sqrt(rounded)};
}

template <class T>
void require_exact_symmetry(const Csr<T>& A, std::vector<NullSpacePart>& parts) {
  if (parts.empty()) return;
  Host backend{Device()};
  if (find_asymmetry(backend, A, 0).value == FirstIndex::none) return;
  for (NullSpacePart& part : parts) part.is_proven = false;
}
template void require_exact_symmetry(const Csr<float>&, std::vector<NullSpacePart>&);
template void require_exact_symmetry(const Csr<double>&, std::vector<NullSpacePart>&);

}  // namespace echelon::bddc
