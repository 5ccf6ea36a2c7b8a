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
  int status = METIS_OK;
  {
    static std::mutex lock;
    const std::lock_guard guard(lock);
    const DelayedTermination delayed;
    const PrivateRandomState random;
    status = METIS_NodeND(&n, graph.begin.data(), graph.neighbours.data(), nullptr, nullptr, order.data(),
                          inverse.data());
  }
  if (status == METIS_ERROR_MEMORY) throw OutOfMemory("serial", 0, 0);
  permutation.assign(order.begin(), order.end());
  if (status != METIS_OK || !is_permutation(permutation, a.n)) {
    throw Error("METIS_NodeND failed with status " + std::to_string(status));
  }
  return permutation;
}

}  // namespace echelon::sparse_direct
