// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/symmetry.hpp"

#include "backend/backend.hpp"
#include "backend/host/host.hpp"
#include "solver/factor_status.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Index of a_ij among the elements; -1 if it is not stored. `guess` may be any number.
template <class T>
std::int64_t find_element(const Csr<T>& a, std::int64_t i, std::int64_t j, std::int64_t guess) {
  const std::int32_t* const columns = a.column_indices().data();
  std::int64_t begin = a.row_offsets()[i];
  std::int64_t size = a.row_offsets()[i + 1] - begin;
  if (guess >= begin && guess < begin + size && columns[guess] == j) return guess;
  if (size == 0) return -1;
  while (size > 1) {
    const std::int64_t half = size / 2;
    begin += columns[begin + half - 1] < j ? half : 0;
    size -= half;
  }
  return columns[begin] == j ? begin : -1;
}

template <class T>
double magnitude_of_diagonal(const Csr<T>& a, std::int64_t i) {
  const std::int64_t k = find_element(a, i, i, -1);
  return k < 0 ? 0 : std::fabs(static_cast<double>(a.values()[k]));
}

/// Element k; 0 for k = -1, one that is not stored.
template <class T>
double element(const Csr<T>& a, std::int64_t k) {
  return k < 0 ? 0 : static_cast<double>(a.values()[k]);
}

/// Whether a_ij = `below` and a_ji = `above`, which are not equal, differ by more than rounding errors.
template <class T>
bool unequal_differ(const Csr<T>& a, std::int64_t i, std::int64_t j, double below, double above) {
  const double difference = std::fabs(below - above);
  if (difference <= symmetry_tolerance<T> * std::max(std::fabs(below), std::fabs(above))) return false;
  constexpr double roundoff = 100 * static_cast<double>(std::numeric_limits<T>::epsilon());
  const double bound =
      roundoff * std::sqrt(magnitude_of_diagonal(a, i)) * std::sqrt(magnitude_of_diagonal(a, j));
  return !(difference <= bound);
}

template <class T>
inline bool differ(const Csr<T>& a, std::int64_t i, std::int64_t j, double below, double above) {
  return below != above && unequal_differ(a, i, j, below, above);
}

/// Calls pair(i, j, k, l) for all i > j of which A stores an element: k is the index of a_ij and l that of
/// a_ji, -1 for one that is not stored. Stops when `pair` returns false. O(n + nonzeros) time.
template <class T, class F>
void for_each_pair(const Csr<T>& a, const F& pair) {
  const std::int64_t n = a.rows();
  const std::int64_t* offsets = a.row_offsets().data();
  const std::int32_t* columns = a.column_indices().data();
  // next[j]: the first element of row j right of the diagonal that has not been paired.
  std::vector<std::int64_t> next(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t k = offsets[i];
    for (; k < offsets[i + 1] && columns[k] < i; ++k) {
      const std::int32_t j = columns[k];
      while (next[j] < offsets[j + 1] && columns[next[j]] < i) {
        if (!pair(columns[next[j]], j, -1, next[j])) return;
        ++next[j];
      }
      const bool stored = next[j] < offsets[j + 1] && columns[next[j]] == i;
      if (!pair(i, j, k, stored ? next[j] : -1)) return;
      next[j] += stored ? 1 : 0;
    }
    next[i] = k < offsets[i + 1] && columns[k] == i ? k + 1 : k;
  }
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t l = next[j]; l < offsets[j + 1]; ++l) {
      if (!pair(columns[l], j, -1, l)) return;
    }
  }
}

/// Whether A is symmetric up to rounding errors, in one pass on the calling thread.
template <class T>
bool pairs_agree(const Csr<T>& a) {
  bool agree = true;
  for_each_pair(a, [&](std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) {
    agree = !differ(a, i, j, element(a, k), element(a, l));
    return agree;
  });
  return agree;
}

/// Findings in some rows: the first place that makes A unsymmetric, as row n + column, and the number of
/// elements above the diagonal less that of pairs.
struct PairCounts {
  FirstIndex first = {};
  std::int64_t unpaired = 0;
  friend PairCounts combine(PairCounts a, PairCounts b) {
    return {combine(a.first, b.first), a.unpaired + b.unpaired};
  }
};

/// Compares each element of row i below the diagonal with its mirror image.
template <class T>
struct CompareRow {
  const Csr<T>& a;
  PairCounts operator()(std::int64_t i) const {
    PairCounts facts;
    const std::int64_t begin = a.row_offsets()[i];
    const std::int64_t end = a.row_offsets()[i + 1];
    std::int64_t k = begin;
    for (; k < end && a.column_indices()[k] < i; ++k) {
      const std::int64_t j = a.column_indices()[k];
      // Rows of a mesh are alike: the mirror image stands as far from the end of its row.
      const std::int64_t mirror = find_element(a, j, i, a.row_offsets()[j + 1] - 1 - (k - begin));
      if (mirror >= 0) --facts.unpaired;
      const bool is_first = facts.first.value == FirstIndex::none;
      if (is_first && differ(a, i, j, element(a, k), element(a, mirror))) facts.first = {i * a.rows() + j};
    }
    if (k < end && a.column_indices()[k] == i) ++k;
    facts.unpaired += end - k;
    return facts;
  }
};

/// Finds the first element of row j above the diagonal that is not negligible and has no mirror image: the
/// place of the latter as row n + column.
template <class T>
struct FindUnpaired {
  const Csr<T>& a;
  FirstIndex operator()(std::int64_t j) const {
    for (std::int64_t k = a.row_offsets()[j]; k < a.row_offsets()[j + 1]; ++k) {
      const std::int64_t i = a.column_indices()[k];
      if (i > j && find_element(a, i, j, -1) < 0 && differ(a, i, j, 0, element(a, k)))
        return {i * a.rows() + j};
    }
    return {};
  }
};

struct SetResult {
  PairCounts* facts;
  void operator()(PairCounts found) const { *facts = found; }
  void operator()(FirstIndex found) const { facts->first = combine(facts->first, found); }
};

/// Whether searches for mirror images are divided among enough threads: one thread takes up to four times as
/// long for them as for a pass over the pairs. Host does not divide loops over fewer rows.
bool searches_in_parallel(std::int64_t rows, const Device& host) {
  constexpr int least_threads = 4;
  return host.threads() >= least_threads && rows > 8 * reduction_block;
}

}  // namespace

template <class T>
bool has_symmetric_pattern(const Csr<T>& a) {
  bool symmetric = true;
  for_each_pair(a, [&](std::int64_t, std::int64_t, std::int64_t k, std::int64_t l) {
    symmetric = k >= 0 && l >= 0;
    return symmetric;
  });
  return symmetric;
}

template <class T>
std::optional<Place> find_asymmetry(const Csr<T>& a, const Device& host) {
  if (!searches_in_parallel(a.rows(), host) && pairs_agree(a)) return {};
  Host backend(host);
  PairCounts facts;
  backend.reduce(a.rows(), CompareRow<T>{a}, SetResult{&facts});
  if (facts.unpaired != 0) backend.reduce(a.rows(), FindUnpaired<T>{a}, SetResult{&facts});
  if (facts.first.value == FirstIndex::none) return {};
  return Place{facts.first.value / a.rows(), facts.first.value % a.rows()};
}

#define ECHELON_INSTANTIATE(T) template bool has_symmetric_pattern(const Csr<T>&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

template std::optional<Place> find_asymmetry(const Csr<float>&, const Device&);
template std::optional<Place> find_asymmetry(const Csr<double>&, const Device&);

}  // namespace echelon::sparse_direct
