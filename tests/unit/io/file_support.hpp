// SPDX-License-Identifier: BSD-3-Clause
/// Helpers of the tests of file formats.
#pragma once

#include "io/support/sources.hpp"
#include "unit/io/matrix_market_support.hpp"

#include <echelon/error.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace echelon::testing {

/// The error that `read` ends in; line -1 if it does not.
template <class Read>
ParseError parse_error_of(Read read) {
  try {
    static_cast<void>(read());
  } catch (const ParseError& error) {
    return error;
  }
  return {"", -1, -1, "no error"};
}

/// The message of the InvalidMatrix that `work` throws.
template <class Work>
std::string invalid_matrix_of(Work work) {
  try {
    work();
  } catch (const InvalidMatrix& error) {
    return error.what();
  }
  return "no error";
}

inline void expect_words(const Error& error, const std::string& words) {
  EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
}

inline std::unique_ptr<io::TextSource> memory(const std::string& text) {
  return io::text_in_memory(text);
}

/// Bytes of numbers, big-endian unless told.
template <class V>
std::string bytes_of(const std::vector<V>& values, bool big_endian = true) {
  std::string result;
  for (const V value : values) {
    std::array<char, sizeof(V)> bytes{};
    std::memcpy(bytes.data(), &value, sizeof(V));
    if (big_endian) std::reverse(bytes.begin(), bytes.end());
    result.append(bytes.data(), bytes.size());
  }
  return result;
}

/// Elements by row and column, independent of the storage of a sparse matrix.
using Places = std::map<std::pair<std::int64_t, std::int64_t>, double>;

template <class T>
Places places_of(const Csr<T>& matrix) {
  Places places;
  for (std::int64_t i = 0; i < matrix.rows(); ++i) {
    for (std::int64_t k = matrix.row_offsets()[i]; k < matrix.row_offsets()[i + 1]; ++k) {
      places[{i, matrix.column_indices()[k]}] = static_cast<double>(matrix.values()[k]);
    }
  }
  return places;
}

template <class T>
Csr<T> random_sparse(std::int32_t rows, std::int32_t columns, int per_row, std::uint64_t seed = 11) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<Triplet<T>> triplets;
  for (std::int32_t i = 0; i < rows; ++i) {
    for (int k = 0; k < per_row && columns > 0; ++k) {
      triplets.push_back({i, std::uniform_int_distribution<std::int32_t>(0, columns - 1)(random),
                          static_cast<T>(normal(random))});
    }
  }
  return Csr<T>::from_triplets(rows, columns, triplets);
}

/// A graph without loops; weights 1 to `most_weight`.
template <class T>
Csr<T> random_graph(std::int32_t vertices, int edges, int most_weight, std::uint64_t seed = 12) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::int32_t n) {
    return std::uniform_int_distribution<std::int32_t>(0, n - 1)(random);
  };
  std::map<std::pair<std::int32_t, std::int32_t>, T> places;
  for (int k = 0; k < edges && vertices > 1; ++k) {
    const std::int32_t u = below(vertices);
    const std::int32_t v = below(vertices);
    if (u == v) continue;
    places[{u, v}] = places[{v, u}] = static_cast<T>(1 + below(most_weight));
  }
  std::vector<Triplet<T>> triplets;
  for (const auto& [place, value] : places) triplets.push_back({place.first, place.second, value});
  return Csr<T>::from_triplets(vertices, vertices, triplets);
}

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace echelon::testing
