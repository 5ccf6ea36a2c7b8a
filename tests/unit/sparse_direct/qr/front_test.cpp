// SPDX-License-Identifier: BSD-3-Clause
// The kernels of every instruction set that this processor has: R^H R is A^H A, and the reflections applied
// to A give R.
#include "sparse_direct/qr/kernels.hpp"
#include "support/scalar.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {
namespace {

template <class T>
std::vector<std::pair<const char*, const QrKernels<T>*>> all_qr_kernels() {
  std::vector<std::pair<const char*, const QrKernels<T>*>> list = {{"portable", portable_qr_kernels<T>()}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    list.emplace_back("avx2", avx2_qr_kernels<T>());
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    list.emplace_back("avx512", avx512_qr_kernels<T>());
#endif
  return list;
}

struct QrShape {
  std::int32_t rows, columns, pivots;
  bool stairs;
};

template <class T>
class QrFronts : public testing::Test {};
using QrScalars = testing::Types<float, double, std::complex<double>>;
TYPED_TEST_SUITE(QrFronts, QrScalars);

template <class T>
T random_value(std::mt19937& random) {
  std::normal_distribution<float> normal;
  if constexpr (is_complex<T>) {
    return {normal(random), normal(random)};
  } else {
    return static_cast<T>(normal(random));
  }
}

TYPED_TEST(QrFronts, EveryInstructionSet_FactorsAndReflects) {
  using T = TypeParam;
  for (const auto& [name, kernels] : all_qr_kernels<T>()) {
    for (const QrShape& shape : {QrShape{1, 1, 1, false},
                                 {5, 3, 2, false},
                                 {3, 5, 3, false},
                                 {33, 31, 7, true},
                                 {120, 90, 40, true},
                                 {70, 140, 70, true},
                                 {257, 65, 65, false}}) {
      SCOPED_TRACE(std::string(name) + " " + std::to_string(shape.rows) + " by " +
                   std::to_string(shape.columns));
      std::mt19937 random(7);
      const auto m = static_cast<std::size_t>(shape.rows);
      const auto n = static_cast<std::size_t>(shape.columns);
      std::vector<std::int32_t> staircase(n, shape.rows);
      for (std::size_t k = 0; k < n && shape.stairs; ++k)
        staircase[k] = std::min<std::int32_t>(shape.rows, static_cast<std::int32_t>((k + 1) * m / n));
      std::vector<T> A(m * n, T{0});
      for (std::size_t k = 0; k < n; ++k) {
        for (std::int32_t i = 0; i < staircase[k]; ++i)
          A[k * m + static_cast<std::size_t>(i)] = random_value<T>(random);
      }
      std::vector<T> front = A;
      std::vector<T> work(static_cast<std::size_t>(QrFront<T>::work_size(shape.rows, shape.columns)));
      std::vector<Reflection<T>> reflections(std::min(m, n));
      std::vector<std::int32_t> leading(std::min(m, n));
      const ReflectedFront found = kernels->factor({.elements = front.data(),
                                                    .rows = shape.rows,
                                                    .columns = shape.columns,
                                                    .pivots = shape.pivots,
                                                    .staircase = staircase.data(),
                                                    .tolerance = 0,
                                                    .reflections = reflections.data(),
                                                    .leading = leading.data(),
                                                    .work = work.data()});
      ASSERT_EQ(found.reflections, static_cast<std::int32_t>(std::min(m, n)));
      std::vector<T> product = A;
      for (std::int32_t q = 0; q < found.reflections; ++q) {
        const Reflection<T>& reflection = reflections[q];
        std::vector<T> v(static_cast<std::size_t>(reflection.rows));
        std::vector<T> conj_v(v.size());
        for (std::size_t i = 0; i < v.size(); ++i) {
          v[i] = i == 0 ? T{1}
                        : front[static_cast<std::size_t>(leading[q]) * m +
                                static_cast<std::size_t>(reflection.first) + i];
          conj_v[i] = conj(v[i]);
        }
        kernels->reflect(reflection.rows, shape.columns, v.data(), conj_v.data(), conj(reflection.tau),
                         product.data() + reflection.first, shape.rows);
      }
      double error = 0;
      double size = 0;
      for (std::size_t j = 0; j < n; ++j) {
        std::size_t filled = 0;
        while (filled < leading.size() && leading[filled] <= static_cast<std::int32_t>(j)) ++filled;
        for (std::size_t i = 0; i < m; ++i) {
          const T expected = i < filled ? front[j * m + i] : T{0};
          error = std::max(error, magnitude(T(product[j * m + i] - expected)));
          size = std::max(size, magnitude(A[j * m + i]));
        }
      }
      EXPECT_LE(error, 1000 * static_cast<double>(std::numeric_limits<Real<T>>::epsilon()) * size);
    }
  }
}

}  // namespace
}  // namespace echelon::sparse_direct
