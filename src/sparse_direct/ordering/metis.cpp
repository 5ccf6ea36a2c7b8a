// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/ordering/metis.hpp"

#include "backend/device/memory_limits.hpp"
#include "sparse_direct/ordering/own_signals.hpp"

#include <echelon/error.hpp>

#include <metis.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Gives rand() a private state for the lifetime of the object.
class PrivateRandomState {
 public:
  PrivateRandomState() : caller_(initstate(1, state_.data(), state_.size())) {}
  PrivateRandomState(const PrivateRandomState&) = delete;
  PrivateRandomState& operator=(const PrivateRandomState&) = delete;
  ~PrivateRandomState() { setstate(caller_); }

 private:
  std::array<char, 128> state_{};
  char* caller_;
};

/// The pattern without its diagonal, as METIS takes it.
struct MetisPattern {
  std::vector<idx_t> begin;
  std::vector<idx_t> neighbours;

  explicit MetisPattern(const Pattern& a) {
    if (a.entries() > std::numeric_limits<idx_t>::max()) {
      throw InvalidMatrix("METIS counts at most " + std::to_string(std::numeric_limits<idx_t>::max()) +
                          " entries; the pattern has " + std::to_string(a.entries()));
    }
    begin.reserve(static_cast<std::size_t>(a.n) + 1);
    begin.push_back(0);
    neighbours.reserve(a.columns.size());
    for (std::int64_t i = 0; i < a.n; ++i) {
      for (const std::int32_t j : a.row(i)) {
        if (j != i) neighbours.push_back(j);
      }
      begin.push_back(static_cast<idx_t>(neighbours.size()));
    }
  }
};

std::mutex& metis_lock() {
  static std::mutex lock;
  return lock;
}

/// Calls a function of METIS, which is not thread-safe and installs handlers for SIGABRT and SIGTERM, by
/// which it leaves from a failed allocation. Returns the numbers that `call` writes to the place that it is
/// given.
template <class Call>
std::vector<std::int32_t> call_metis(const std::string& name, std::size_t results, const Call& call) {
  const std::lock_guard guard(metis_lock());
  const SharedMemory memory((1 + results) * sizeof(idx_t));
  auto* const status = static_cast<idx_t*>(memory.data());
  const PrivateRandomState random;
  const CallEnd end = call_with_own_signals([&] { *status = call(status + 1); });
  // After a failed allocation METIS returns METIS_ERROR_MEMORY or, where it raises SIGTERM, METIS_ERROR; or
  // it raises a signal when it has removed its handlers and frees memory.
  const bool exhausted = *status == METIS_ERROR_MEMORY || *status == METIS_ERROR;
  if (end == CallEnd::raised || exhausted) throw host_out_of_memory(0);
  if (end == CallEnd::killed) throw Error(name + " was ended by a signal");
  if (*status != METIS_OK) throw Error(name + " failed with status " + std::to_string(*status));
  return {status + 1, status + 1 + results};
}

}  // namespace

std::vector<std::int32_t> metis_ordering(const Pattern& a) {
  const auto rows = static_cast<std::size_t>(a.n);
  std::vector<std::int32_t> permutation(rows);
  MetisPattern graph(a);
  if (graph.neighbours.empty()) {  // METIS expects an edge
    std::iota(permutation.begin(), permutation.end(), 0);
    return permutation;
  }
  auto n = static_cast<idx_t>(a.n);
  permutation = call_metis("METIS_NodeND", 2 * rows, [&](idx_t* order) {
    idx_t* const inverse = order + rows;
    return METIS_NodeND(&n, graph.begin.data(), graph.neighbours.data(), nullptr, nullptr, order, inverse);
  });
  permutation.resize(rows);
  if (!is_permutation(permutation, a.n)) throw Error("METIS_NodeND returned no permutation");
  return permutation;
}

std::vector<std::int32_t> metis_partition(const Pattern& a, std::span<const std::int32_t> weights,
                                          std::int32_t parts) {
  std::vector<std::int32_t> part(static_cast<std::size_t>(a.n), 0);
  MetisPattern graph(a);
  if (parts <= 1 || a.n == 0) return part;
  if (graph.neighbours.empty()) {  // METIS expects an edge
    for (std::size_t i = 0; i < part.size(); ++i) part[i] = static_cast<std::int32_t>(i) % parts;
    return part;
  }
  std::vector<idx_t> edge_weights(weights.begin(), weights.end());
  auto n = static_cast<idx_t>(a.n);
  auto count = static_cast<idx_t>(parts);
  idx_t constraints = 1;
  idx_t cut = 0;
  part = call_metis("METIS_PartGraphKway", part.size(), [&](idx_t* result) {
    return METIS_PartGraphKway(&n, &constraints, graph.begin.data(), graph.neighbours.data(), nullptr,
                               nullptr, weights.empty() ? nullptr : edge_weights.data(), &count, nullptr,
                               nullptr, nullptr, &cut, result);
  });
  for (const std::int32_t p : part) {
    if (p < 0 || p >= parts) throw Error("METIS_PartGraphKway returned no partition");
  }
  return part;
}

}  // namespace echelon::sparse_direct
