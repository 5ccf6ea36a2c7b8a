// SPDX-License-Identifier: BSD-3-Clause
/// Analysis of graphs by their Laplacians, in double precision.
#include "bindings.hpp"
#include "matrix.hpp"

#include <echelon/graph/analysis.hpp>
#include <echelon/io/graph.hpp>
#include <echelon/problems/steady_state.hpp>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

namespace echelon::python {

namespace {

using Matrix64 = PythonMatrix<double>;

graph::SolveSettings settings_of(const std::string& method, double rtol, const std::atomic<bool>& flag) {
  graph::SolveSettings settings;
  settings.method = method;
  settings.rtol = rtol;
  settings.cancel = &flag;
  return settings;
}

nb::object connected_components(const Matrix64& A) {
  graph::Components found;
  {
    const Unlocked unlocked;
    found = graph::components(A.csr());
  }
  return nb::make_tuple(found.count, numpy_array(std::move(found.of_vertex)),
                        numpy_array(std::move(found.sizes)));
}

nb::tuple laplacian_of(const Matrix64& A, bool symmetrise, bool negative_weights) {
  Csr<double> result;
  {
    const Unlocked unlocked;
    result = laplacian(A.csr(), {.symmetrise = symmetrise, .negative_weights = negative_weights});
  }
  return csr_arrays(std::move(result));
}

nb::tuple adjacency_of(const Matrix64& A) {
  Csr<double> result;
  {
    const Unlocked unlocked;
    result = adjacency(A.csr());
  }
  return csr_arrays(std::move(result));
}

/// (values, report)
nb::tuple pair_resistances(const Matrix64& L, const std::vector<std::pair<std::int32_t, std::int32_t>>& pairs,
                           const std::string& method, double rtol) {
  std::vector<graph::Pair> vertices;
  vertices.reserve(pairs.size());
  for (const auto& [first, second] : pairs) vertices.push_back({first, second});
  graph::Resistances found = compute(L.work(), [&](const std::atomic<bool>& flag) {
    return graph::resistances(L.csr(), vertices, settings_of(method, rtol, flag));
  });
  return nb::make_tuple(numpy_array(std::move(found.values)), found.report);
}

/// (first vertices, second vertices, weights, resistances, report)
nb::tuple all_edge_resistances(const Matrix64& L, double error, std::uint64_t seed, const std::string& method,
                               double rtol) {
  const graph::EdgeResistances found = compute(L.work(), [&](const std::atomic<bool>& flag) {
    return graph::edge_resistances(L.csr(),
                                   {.solve = settings_of(method, rtol, flag), .error = error, .seed = seed});
  });
  std::vector<std::int32_t> first;
  std::vector<std::int32_t> second;
  std::vector<double> weights;
  std::vector<double> values;
  for (const graph::EdgeResistance& edge : found.edges) {
    first.push_back(edge.first);
    second.push_back(edge.second);
    weights.push_back(edge.weight);
    values.push_back(edge.resistance);
  }
  return nb::make_tuple(numpy_array(std::move(first)), numpy_array(std::move(second)),
                        numpy_array(std::move(weights)), numpy_array(std::move(values)), found.report);
}

/// (x, report)
nb::tuple potentials_of(const Matrix64& L, const nb::ndarray<const double>& currents,
                        const std::string& method, double rtol, bool strict) {
  const auto view = view_of<const double>(currents);
  graph::Potentials found = compute(L.work(), [&](const std::atomic<bool>& flag) {
    return graph::potentials(L.csr(), view, settings_of(method, rtol, flag), strict);
  });
  return nb::make_tuple(numpy_array(std::move(found.x)), found.report);
}

/// (values, vectors, residuals, status, message)
nb::tuple fiedler_pairs(const Matrix64& L, std::int64_t count, double tolerance, std::int64_t max_iterations,
                        std::uint64_t seed) {
  graph::Eigenpairs found = compute(L.work(), [&](const std::atomic<bool>& flag) {
    graph::FiedlerOptions options;
    options.count = count;
    options.tolerance = tolerance;
    options.max_iterations = max_iterations;
    options.seed = seed;
    options.solve.cancel = &flag;
    return graph::fiedler(L.csr(), options);
  });
  return nb::make_tuple(numpy_array(std::move(found.values)), numpy_array(std::move(found.vectors)),
                        numpy_array(std::move(found.residuals)), to_string(found.status), found.message);
}

/// (x, number of closed classes, method, whether it has converged, both residuals)
nb::tuple steady_state_of(const Matrix64& A, const std::string& method) {
  const auto kind = from_word<SteadyStateMethod>(method);
  if (!kind) throw BadOption("method", "method is 'auto', 'gth' or 'iteration', not '" + method + "'");
  SteadyState found;
  {
    const Unlocked unlocked;
    found = steady_state(A.csr(), {.method = *kind});
  }
  return nb::make_tuple(numpy_array(std::move(found.x)), found.closed_classes, to_string(found.method),
                        found.converged, found.residual, found.componentwise_residual);
}

}  // namespace

void bind_graphs(nb::module_& module) {
  module.def("components", connected_components);
  module.def("laplacian", laplacian_of);
  module.def("adjacency", adjacency_of);
  module.def("resistances", pair_resistances);
  module.def("edge_resistances", all_edge_resistances);
  module.def("potentials", potentials_of, nb::arg(), nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg());
  module.def("fiedler", fiedler_pairs);
  module.def("steady_state", steady_state_of);
}

}  // namespace echelon::python
