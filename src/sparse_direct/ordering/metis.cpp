// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/ordering/metis.hpp"

#include <echelon/error.hpp>

#include <metis.h>

#include <array>
#include <csignal>
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

/// Blocks SIGTERM in the calling thread for the lifetime of the object.
class DelayedTermination {
 public:
  DelayedTermination() {
    sigset_t terminate;
    sigemptyset(&terminate);
    sigaddset(&terminate, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &terminate, &caller_);
  }
  DelayedTermination(const DelayedTermination&) = delete;
  DelayedTermination& operator=(const DelayedTermination&) = delete;
  ~DelayedTermination() { pthread_sigmask(SIG_SETMASK, &caller_, nullptr); }

 private:
  sigset_t caller_{};
};

/// The pattern without its diagonal, as METIS takes it.
struct Graph {
  std::vector<idx_t> begin;
  std::vector<idx_t> neighbours;

  explicit Graph(const Pattern& a) {
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

/// Calls a function of METIS, which is not thread-safe, and returns its status.
template <class Call>
int call_metis(const Call& call) {
  const std::lock_guard guard(metis_lock());
  const DelayedTermination delayed;
  const PrivateRandomState random;
  const int status = call();
  if (status == METIS_ERROR_MEMORY) throw OutOfMemory("serial", 0, 0);
  return status;
}

}  // namespace

std::vector<std::int32_t> metis_ordering(const Pattern& a) {
  std::vector<std::int32_t> permutation(static_cast<std::size_t>(a.n));
  Graph graph(a);
  if (graph.neighbours.empty()) {  // METIS expects an edge
    std::iota(permutation.begin(), permutation.end(), 0);
    return permutation;
  }
  std::vector<idx_t> order(permutation.size());
  std::vector<idx_t> inverse(permutation.size());
  auto n = static_cast<idx_t>(a.n);
  const int status = call_metis([&] {
    return METIS_NodeND(&n, graph.begin.data(), graph.neighbours.data(), nullptr, nullptr, order.data(),
                        inverse.data());
  });
  permutation.assign(order.begin(), order.end());
  if (status != METIS_OK || !is_permutation(permutation, a.n)) {
    throw Error("METIS_NodeND failed with status " + std::to_string(status));
  }
  return permutation;
}

std::vector<std::int32_t> metis_partition(const Pattern& a, std::span<const std::int32_t> weights,
                                          std::int32_t parts) {
  std::vector<std::int32_t> part(static_cast<std::size_t>(a.n), 0);
  Graph graph(a);
  if (parts <= 1 || a.n == 0) return part;
  if (graph.neighbours.empty()) {  // METIS expects an edge
    for (std::size_t i = 0; i < part.size(); ++i) part[i] = static_cast<std::int32_t>(i) % parts;
    return part;
  }
  std::vector<idx_t> edge_weights(weights.begin(), weights.end());
  std::vector<idx_t> result(part.size());
  auto n = static_cast<idx_t>(a.n);
  auto count = static_cast<idx_t>(parts);
  idx_t constraints = 1;
  idx_t cut = 0;
  const int status = call_metis([&] {
    return METIS_PartGraphKway(&n, &constraints, graph.begin.data(), graph.neighbours.data(), nullptr,
                               nullptr, weights.empty() ? nullptr : edge_weights.data(), &count, nullptr,
                               nullptr, nullptr, &cut, result.data());
  });
  part.assign(result.begin(), result.end());
  for (const std::int32_t p : part) {
    if (status == METIS_OK && p >= 0 && p < parts) continue;
    throw Error("METIS_PartGraphKway failed with status " + std::to_string(status));
  }
  return part;
}

}  // namespace echelon::sparse_direct
