// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/bddc/preconditioner/constraints.hpp"

#include "domain_decomposition/bddc/preconditioner/orthonormal.hpp"

#include <algorithm>
#include <utility>

namespace echelon::bddc {

namespace {

/// Orthonormal rows that span the restrictions of the vectors to a class.
ClassConstraints averages(const InterfaceClass& c, const Dense<double>& vectors) {
  ClassConstraints result;
  for (const std::vector<double>& row : orthonormal_basis(c.unknowns, vectors)) {
    result.weights.insert(result.weights.end(), row.begin(), row.end());
    ++result.count;
  }
  return result;
}

}  // namespace

Constraints make_constraints(const Interface& interface, const Dense<double>& vectors,
                             const ConstraintChoice& choice) {
  Constraints result;
  for (const InterfaceClass& c : interface.classes) {
    ClassConstraints own;
    if (choice.includes(c.kind)) {
      if (c.kind == ClassKind::corner) {
        own.count = static_cast<std::int32_t>(c.unknowns.size());
      } else {
        own = averages(c, vectors);
        result.redundant += vectors.columns() - own.count;
      }
    }
    own.first = result.coarse_unknowns;
    result.coarse_unknowns += own.count;
    result.classes.push_back(std::move(own));
  }
  return result;
}

Dense<double> component_vectors(std::int64_t unknowns, std::int64_t block_size) {
  Dense<double> vectors(Device(), unknowns, block_size);
  std::fill_n(vectors.data(), unknowns * block_size, 0.0);
  for (std::int64_t i = 0; i < unknowns; ++i) vectors(i, i % block_size) = 1;
  return vectors;
}

Dense<double> coarse_values(const Interface& interface, const Constraints& constraints,
                            const Dense<double>& vectors) {
  Dense<double> values(Device(), constraints.coarse_unknowns, vectors.columns());
  for (std::size_t c = 0; c < interface.classes.size(); ++c) {
    const std::vector<std::int32_t>& unknowns = interface.classes[c].unknowns;
    const ClassConstraints& own = constraints.classes[c];
    const std::int64_t size = std::ssize(unknowns);
    for (std::int64_t v = 0; v < vectors.columns(); ++v) {
      for (std::int64_t k = 0; k < own.count; ++k) {
        double sum = own.weights.empty() ? vectors(unknowns[k], v) : 0;
        for (std::int64_t j = 0; j < size && !own.weights.empty(); ++j) {
          sum += own.weights[k * size + j] * vectors(unknowns[j], v);
        }
        values(own.first + k, v) = sum;
      }
    }
  }
  return values;
}

}  // namespace echelon::bddc
