// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/matching/scaling.hpp"

#include "backend/host/host.hpp"
#include "linalg/line_scaling.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace echelon::sparse_direct {

namespace {

bool is_usable(double magnitude) {
  return magnitude > 0 && std::isfinite(magnitude);
}

/// Largest scaled magnitudes of the rows and of the columns.
template <class T>
void find_largest(const Csr<T>& a, const Scaling& scaling, Scaling& largest) {
  largest.columns.assign(scaling.columns.size(), 0);
  const std::int64_t* offsets = a.row_offsets().data();
  const std::int32_t* columns = a.column_indices().data();
  const T* values = a.values().data();
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    double of_row = 0;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const std::int32_t j = columns[k];
      const double scaled = scaling.rows[i] * std::abs(static_cast<double>(values[k])) * scaling.columns[j];
      of_row = std::max(of_row, scaled);
      largest.columns[j] = std::max(largest.columns[j], scaled);
    }
    largest.rows[i] = of_row;
  }
}

/// Divides factors by the square roots of the largest magnitudes, where these are far from 1; true if any
/// were.
bool correct(std::vector<double>& factors, const std::vector<double>& largest) {
  constexpr double tolerance = 0.01;
  bool changed = false;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (std::abs(1 - largest[i]) <= tolerance || !is_usable(largest[i])) continue;
    changed = true;
    factors[i] /= std::sqrt(largest[i]);
  }
  return changed;
}

/// Powers of two that bring all elements as close to 1 as they can.
template <class T>
Scaling geometric_scaling(const Csr<T>& a, int passes) {
  Host backend(Device::serial());
  const SparseLines<Host, T> lines(backend, a);
  LineScaling scaling = lines.scaling(backend);
  scaling.fit(passes);
  Scaling result{std::vector<double>(static_cast<std::size_t>(a.rows())),
                 std::vector<double>(static_cast<std::size_t>(a.columns()))};
  scaling.set(result.rows.data(), result.columns.data());
  return result;
}

/// True if the largest magnitudes of rows or of columns differ by so much that the result of scaling them to
/// 1 one by one would depend on the order.
bool differ_widely(const Scaling& largest) {
  constexpr double wide = 1e9;
  const auto is_wide = [](const std::vector<double>& magnitudes) {
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    for (const double magnitude : magnitudes) {
      if (!is_usable(magnitude)) continue;
      least = std::min(least, magnitude);
      most = std::max(most, magnitude);
    }
    return most / wide > least;
  };
  return is_wide(largest.rows) || is_wide(largest.columns);
}

/// Power of two that brings a magnitude into [1, 2), limited to 2^-1000 and 2^1000; 1 for zeros. The exponent
/// field of the magnitude stands for 2^(field - 1023).
double power_to_unit(double magnitude) {
  if (!is_usable(magnitude)) return 1;
  constexpr std::uint64_t bias = 1023;
  constexpr unsigned fraction_bits = 52;
  const std::uint64_t field = std::bit_cast<std::uint64_t>(magnitude) >> fraction_bits;
  return std::bit_cast<double>((2 * bias - std::clamp(field, bias - 1000, bias + 1000)) << fraction_bits);
}

}  // namespace

template <class T>
Scaling infinity_norm_scaling(const Csr<T>& a, int passes) {
  Scaling scaling{std::vector<double>(static_cast<std::size_t>(a.rows()), 1),
                  std::vector<double>(static_cast<std::size_t>(a.columns()), 1)};
  Scaling largest = scaling;
  find_largest(a, scaling, largest);
  if (differ_widely(largest)) {
    scaling = geometric_scaling(a, 5 * passes);
    find_largest(a, scaling, largest);
  }
  for (int pass = 0; pass < passes; ++pass) {
    if (pass > 0) find_largest(a, scaling, largest);
    const bool rows_changed = correct(scaling.rows, largest.rows);
    const bool columns_changed = correct(scaling.columns, largest.columns);
    if (!rows_changed && !columns_changed) break;
  }
  return scaling;
}

template <class T>
Scaling equilibration(const Csr<T>& a) {
  Scaling scaling{std::vector<double>(static_cast<std::size_t>(a.rows()), 1),
                  std::vector<double>(static_cast<std::size_t>(a.columns()), 0)};
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    const std::int64_t begin = a.row_offsets()[i];
    const std::int64_t end = a.row_offsets()[i + 1];
    double largest = 0;
    for (std::int64_t k = begin; k < end; ++k) {
      largest = std::max(largest, std::abs(static_cast<double>(a.values()[k])));
    }
    const double scale = power_to_unit(largest);
    scaling.rows[i] = scale;
    for (std::int64_t k = begin; k < end; ++k) {
      double& of_column = scaling.columns[a.column_indices()[k]];
      of_column = std::max(of_column, scale * std::abs(static_cast<double>(a.values()[k])));
    }
  }
  std::transform(scaling.columns.begin(), scaling.columns.end(), scaling.columns.begin(), power_to_unit);
  return scaling;
}

template Scaling equilibration(const Csr<float>&);
template Scaling equilibration(const Csr<double>&);
template Scaling infinity_norm_scaling(const Csr<float>&, int);
template Scaling infinity_norm_scaling(const Csr<double>&, int);

}  // namespace echelon::sparse_direct
