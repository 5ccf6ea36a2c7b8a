// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>

#include <cstdint>

namespace echelon {

/// Places at which two arrays differ, for the first of which to search.
template <class Index>
struct FindDifference {
  const Index* a;
  const Index* b;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t k) const {
    return a[k] == b[k] ? FirstIndex{} : FirstIndex{k};
  }
};

/// Whether two arrays in the backend's memory have the same elements. Waits, unless their sizes differ.
template <class B, class Index>
[[nodiscard]] bool are_equal(B& backend, const Array<Index>& a, const Array<Index>& b) {
  if (a.size() != b.size()) return false;
  Array<FirstIndex> first(backend.device(), 1);
  backend.reduce(a.size(), FindDifference<Index>{a.data(), b.data()}, Store<FirstIndex>{first.data()});
  return backend.read(first.data()).value == FirstIndex::none;
}

}  // namespace echelon
