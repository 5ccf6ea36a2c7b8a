// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/bddc/subdomains/partition.hpp"
#include "domain_decomposition/bddc/subdomains/subdomains.hpp"
#include "solver/nested_solver.hpp"
#include "sparse_direct/ordering/metis.hpp"
#include "support/text.hpp"

#include <echelon/domain_decomposition/bddc.hpp>
#include <echelon/error.hpp>
#include <echelon/matrix/transform.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace echelon {

namespace {

using bddc::Partition;

std::int64_t size_of(const ElementMatrices& elements, std::int64_t e) {
  return elements.begin[e + 1] - elements.begin[e];
}

void check_sizes(const ElementMatrices& elements) {
  if (elements.begin.empty() || elements.begin.front() != 0 ||
      elements.begin.back() != std::ssize(elements.indices)) {
    throw InvalidMatrix("element matrices: `begin` runs from 0 to the number of indices, " +
                        std::to_string(elements.indices.size()));
  }
  std::int64_t values = 0;
  for (std::int64_t e = 0; e < elements.elements(); ++e) {
    if (size_of(elements, e) < 0) {
      throw InvalidMatrix("element " + std::to_string(e) + " ends before it begins");
    }
    values += size_of(elements, e) * size_of(elements, e);
  }
  if (values != std::ssize(elements.values)) {
    throw InvalidMatrix("the elements have " + std::to_string(values) + " values by their unknowns, and " +
                        std::to_string(elements.values.size()) + " are given");
  }
}

void check_element(const ElementMatrices& elements, std::int64_t e, const double* values) {
  const std::string name = "element " + std::to_string(e);
  const std::int64_t size = size_of(elements, e);
  const std::int32_t* const unknowns = elements.indices.data() + elements.begin[e];
  for (std::int64_t i = 0; i < size; ++i) {
    if (unknowns[i] < 0 || unknowns[i] >= elements.unknowns) {
      throw InvalidMatrix(name + " has unknown " + std::to_string(unknowns[i]) + " of " +
                          std::to_string(elements.unknowns));
    }
    if (std::find(unknowns, unknowns + i, unknowns[i]) != unknowns + i) {
      throw InvalidMatrix(name + " has unknown " + std::to_string(unknowns[i]) + " twice");
    }
  }
  double largest = 0;
  for (std::int64_t k = 0; k < size * size; ++k) {
    if (!std::isfinite(values[k])) throw InvalidMatrix(name + " has a NaN or Inf");
    largest = std::max(largest, std::abs(values[k]));
  }
  for (std::int64_t j = 0; j < size; ++j) {
    for (std::int64_t i = 0; i < j; ++i) {
      if (std::abs(values[i + j * size] - values[j + i * size]) <= bddc::symmetry_rounding * largest)
        continue;
      throw InvalidMatrix(name + " is not symmetric: " + exact_number(values[i + j * size]) + " against " +
                          exact_number(values[j + i * size]));
    }
  }
}

void check_elements(const ElementMatrices& elements) {
  check_sizes(elements);
  const double* values = elements.values.data();
  for (std::int64_t e = 0; e < elements.elements(); ++e) {
    check_element(elements, e, values);
    values += size_of(elements, e) * size_of(elements, e);
  }
}

/// Calls add(e, i, j, value) for the values of all elements, i and j being unknowns.
template <class Add>
void for_each_value(const ElementMatrices& elements, const Add& add) {
  const double* value = elements.values.data();
  for (std::int64_t e = 0; e < elements.elements(); ++e) {
    const std::int32_t* const unknowns = elements.indices.data() + elements.begin[e];
    for (std::int64_t j = 0; j < size_of(elements, e); ++j) {
      for (std::int64_t i = 0; i < size_of(elements, e); ++i) add(e, unknowns[i], unknowns[j], *value++);
    }
  }
}

/// Graph of elements that share unknowns, and their numbers.
struct ElementGraph {
  sparse_direct::PatternStorage pattern;
  std::vector<std::int32_t> weights;

  explicit ElementGraph(const ElementMatrices& elements) {
    std::vector<std::vector<std::int32_t>> elements_of(static_cast<std::size_t>(elements.unknowns));
    for (std::int64_t e = 0; e < elements.elements(); ++e) {
      for (std::int64_t k = elements.begin[e]; k < elements.begin[e + 1]; ++k) {
        elements_of[elements.indices[k]].push_back(static_cast<std::int32_t>(e));
      }
    }
    pattern.row_begin.assign(1, 0);
    for (std::int64_t e = 0; e < elements.elements(); ++e) {
      std::map<std::int32_t, std::int32_t> shared;
      for (std::int64_t k = elements.begin[e]; k < elements.begin[e + 1]; ++k) {
        for (const std::int32_t other : elements_of[elements.indices[k]]) {
          if (other != e) ++shared[other];
        }
      }
      for (const auto& [other, count] : shared) {
        pattern.columns.push_back(other);
        weights.push_back(count);
      }
      pattern.row_begin.push_back(static_cast<std::int64_t>(pattern.columns.size()));
    }
  }
};

/// Gives an element of the largest subdomain to every subdomain that has none.
void fill_empty_subdomains(std::vector<std::int32_t>& part, std::int64_t subdomains) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(subdomains), 0);
  for (const std::int32_t p : part) ++sizes[p];
  for (std::size_t empty = 0; empty < sizes.size(); ++empty) {
    if (sizes[empty] > 0) continue;
    const auto largest = std::max_element(sizes.begin(), sizes.end());
    const auto donor = static_cast<std::int32_t>(largest - sizes.begin());
    *std::find(part.begin(), part.end(), donor) = static_cast<std::int32_t>(empty);
    --*largest;
    ++sizes[empty];
  }
}

void check_square(const Csr<double>& A) {
  if (A.rows() == A.columns()) return;
  throw DimensionMismatch("subdomains are those of a square matrix, not of one of " +
                          std::to_string(A.rows()) + " by " + std::to_string(A.columns()));
}

/// |A| + |A|^T, in which nothing cancels.
Csr<double> symmetric_magnitudes(const Csr<double>& A) {
  Csr<double> magnitudes = A;
  for (std::int64_t k = 0; k < A.nonzeros(); ++k) magnitudes.values()[k] = std::abs(A.values()[k]);
  return symmetrize(magnitudes);
}

template <class T>
SolverImplementation<T>& method_with_subdomains(Solver<T>& solver, const char* what) {
  SolverImplementation<T>* const method =
      method_with(SolverAccess<T>::implementation(solver),
                  [](const SolverImplementation<T>& candidate) { return candidate.takes_subdomains(); });
  if (method == nullptr) {
    throw Error("'" + solver.describe() + "' takes no " + what +
                ": bddc does, and methods that are preconditioned by it");
  }
  return *method;
}

}  // namespace

Csr<double> assemble(const ElementMatrices& elements) {
  check_elements(elements);
  std::vector<Triplet<double>> triplets;
  triplets.reserve(elements.values.size());
  for_each_value(elements, [&](std::int64_t /*e*/, std::int32_t i, std::int32_t j, double value) {
    triplets.push_back({i, j, value});
  });
  return Csr<double>::from_triplets(elements.unknowns, elements.unknowns, triplets);
}

std::vector<std::int32_t> partition_elements(const ElementMatrices& elements, std::int64_t subdomains) {
  check_elements(elements);
  if (subdomains < 1 || subdomains > elements.elements()) {
    throw BadOption("subdomains", std::to_string(subdomains) + " subdomains of " +
                                      std::to_string(elements.elements()) + " elements");
  }
  const ElementGraph graph(elements);
  std::vector<std::int32_t> part = sparse_direct::metis_partition(graph.pattern.view(), graph.weights,
                                                                  static_cast<std::int32_t>(subdomains));
  fill_empty_subdomains(part, subdomains);
  return part;
}

std::vector<SubdomainMatrix> subdomain_matrices(const ElementMatrices& elements,
                                                std::span<const std::int32_t> subdomain_of_element) {
  check_elements(elements);
  const Partition partition = bddc::checked_partition(subdomain_of_element, elements.elements(), "element");
  std::vector<SubdomainMatrix> result(static_cast<std::size_t>(partition.parts));
  for (std::int64_t e = 0; e < elements.elements(); ++e) {
    auto& unknowns = result[partition.part[e]].unknowns;
    unknowns.insert(unknowns.end(), elements.indices.begin() + elements.begin[e],
                    elements.indices.begin() + elements.begin[e + 1]);
  }
  std::vector<std::vector<Triplet<double>>> triplets(result.size());
  for (SubdomainMatrix& subdomain : result) {
    std::sort(subdomain.unknowns.begin(), subdomain.unknowns.end());
    subdomain.unknowns.erase(std::unique(subdomain.unknowns.begin(), subdomain.unknowns.end()),
                             subdomain.unknowns.end());
  }
  for_each_value(elements, [&](std::int64_t e, std::int32_t i, std::int32_t j, double value) {
    const std::int32_t s = partition.part[e];
    const auto& unknowns = result[s].unknowns;
    const auto place = [&unknowns](std::int32_t unknown) {
      return static_cast<std::int32_t>(std::lower_bound(unknowns.begin(), unknowns.end(), unknown) -
                                       unknowns.begin());
    };
    triplets[s].push_back({place(i), place(j), value});
  });
  for (std::size_t s = 0; s < result.size(); ++s) {
    const std::int64_t rows = std::ssize(result[s].unknowns);
    result[s].matrix = Csr<double>::from_triplets(rows, rows, triplets[s]);
  }
  return result;
}

std::vector<std::int32_t> partition_rows(const Csr<double>& A, std::int64_t subdomains,
                                         std::int64_t block_size) {
  check_square(A);
  const sparse_direct::PatternStorage graph = bddc::node_graph(symmetric_magnitudes(A), block_size);
  std::vector<std::int32_t> nodes = bddc::partition_graph(graph.view(), subdomains).part;
  fill_empty_subdomains(nodes, subdomains);
  std::vector<std::int32_t> rows;
  for (std::int64_t i = 0; i < A.rows(); ++i) rows.push_back(nodes[i / block_size]);
  return rows;
}

std::vector<SubdomainMatrix> subdomain_matrices(const Csr<double>& A,
                                                std::span<const std::int32_t> subdomain_of_row,
                                                std::int64_t block_size) {
  check_square(A);
  const Partition rows = bddc::checked_partition(subdomain_of_row, A.rows(), "row");
  return bddc::split(A, block_size, bddc::node_partition(rows, block_size)).matrices;
}

template <class T>
void set_subdomain_matrices(Solver<T>& solver, std::vector<SubdomainMatrix> subdomains) {
  SolverImplementation<T>& method = method_with_subdomains(solver, "subdomain matrices");
  bddc::check_subdomain_matrices(subdomains);
  method.set_subdomain_matrices(std::move(subdomains));
}

template <class T>
void set_partition(Solver<T>& solver, std::vector<std::int32_t> subdomain_of_row) {
  SolverImplementation<T>& method = method_with_subdomains(solver, "partition");
  (void)bddc::checked_partition(subdomain_of_row, std::ssize(subdomain_of_row), "row");
  method.set_partition(std::move(subdomain_of_row));
}

template void set_subdomain_matrices(Solver<float>&, std::vector<SubdomainMatrix>);
template void set_subdomain_matrices(Solver<double>&, std::vector<SubdomainMatrix>);
template void set_partition(Solver<float>&, std::vector<std::int32_t>);
template void set_partition(Solver<double>&, std::vector<std::int32_t>);

}  // namespace echelon
