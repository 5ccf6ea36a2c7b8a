// SPDX-License-Identifier: BSD-3-Clause
#include "opencl/backend/primitives.hpp"

#include "backend/atomic.hpp"
#include "backend/store.hpp"
#include "backend/target.hpp"

#include <echelon/array.hpp>

#include <cmath>

namespace echelon::test {

namespace {

template <class T>
struct Element {
  const T* x;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const { return {static_cast<double>(x[i])}; }
};
struct Square {
  std::int64_t* target;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { target[i] = i * i; }
};
struct Magnitude {
  const double* x;
  ECHELON_ANYWHERE Largest operator()(std::int64_t i) const { return {std::fabs(x[i])}; }
};
struct IsAbove {
  const double* x;
  double bound;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t i) const {
    return x[i] > bound ? FirstIndex{i} : FirstIndex{};
  }
};
struct CountVisits {
  std::int32_t* visits;
  ECHELON_ANYWHERE void operator()(std::int64_t s, std::int64_t k) const {
    atomic_add(visits + k, static_cast<std::int32_t>(s) + 1);
  }
};
struct UseAtomics {
  std::int32_t* sums;
  std::int64_t* total;
  std::int32_t* extremes;
  std::int32_t* owner;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    atomic_add(sums + i % 3, 1);
    fetch_add(total, i);
    atomic_min(extremes, static_cast<std::int32_t>(i));
    atomic_max(extremes + 1, static_cast<std::int32_t>(i));
    compare_exchange(owner, -1, static_cast<std::int32_t>(i));
  }
};
struct EvaluateFunctions {
  const double* x;
  double* y;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const double v = x[i];
    double* const out = y + i * math_functions;
    out[0] = std::sqrt(std::fabs(v));
    out[1] = std::fma(v, v, -1.0);
    out[2] = std::floor(v);
    out[3] = std::ldexp(v, 3);
    out[4] = std::ilogb(v);
    out[5] = std::copysign(1.0, v);
    out[6] = 1 / v;
    out[7] = std::round(v);
  }
};

OpenCl backend() {
  return OpenCl(Device::opencl());
}

template <class V, class F>
V reduced(std::int64_t n, F f) {
  OpenCl on = backend();
  Array<V> result(on.device(), 1);
  on.reduce(n, f, Store<V>{result.data()});
  return on.read(result.data());
}

}  // namespace

void make_backend(const Device& device) {
  static_cast<void>(OpenCl(device));
}
void square_indices(std::int64_t n, std::int64_t* target) {
  backend().for_each(n, Square{target});
}
template <class T>
double sum(std::int64_t n, const T* x) {
  return reduced<Sum>(n, Element<T>{x}).value;
}
template double sum(std::int64_t, const float*);
template double sum(std::int64_t, const double*);
double largest_magnitude(std::int64_t n, const double* x) {
  return reduced<Largest>(n, Magnitude{x}).value;
}
std::int64_t first_above(std::int64_t n, const double* x, double bound) {
  return reduced<FirstIndex>(n, IsAbove{x, bound}).value;
}
std::int64_t exclusive_scan(std::int64_t n, const std::int64_t* counts, std::int64_t* offsets) {
  return backend().exclusive_scan(n, counts, offsets);
}
void scan(std::int64_t n, const std::int64_t* counts, std::int64_t* offsets) {
  backend().scan(n, counts, offsets);
}
template <class K, class V>
void sort_by_key(std::int64_t n, int first_bit, int last_bit, const K* keys, K* sorted_keys, const V* values,
                 V* sorted_values) {
  backend().sort_by_key(n, first_bit, last_bit, keys, sorted_keys, values, sorted_values);
}
#define ECHELON_INSTANTIATE(K, V) \
  template void sort_by_key(std::int64_t, int, int, const K*, K*, const V*, V*);
ECHELON_INSTANTIATE(std::uint32_t, float)
ECHELON_INSTANTIATE(std::uint32_t, double)
ECHELON_INSTANTIATE(std::uint64_t, std::int64_t)
#undef ECHELON_INSTANTIATE
std::int64_t select(std::int64_t n, const std::uint8_t* flags, const std::uint32_t* source,
                    std::uint32_t* target) {
  return backend().select(n, flags, source, target);
}
void segmented_sums(std::int64_t n, const std::int64_t* offsets, const double* x, double* sums) {
  static_assert(sizeof(Sum) == sizeof(double));
  backend().segmented_reduce(n, offsets, Element<double>{x}, reinterpret_cast<Sum*>(sums));
}
void visit_segments(std::int64_t n, const std::int64_t* offsets, std::int32_t* visits) {
  backend().segmented_for_each(n, offsets, CountVisits{visits});
}
void use_atomics(std::int64_t n, std::int32_t* sums, std::int64_t* total, std::int32_t* extremes,
                 std::int32_t* owner) {
  backend().for_each(n, UseAtomics{sums, total, extremes, owner});
}
void evaluate_functions(std::int64_t n, const double* x, double* y) {
  backend().for_each(n, EvaluateFunctions{x, y});
}
void evaluate_functions_on_host(std::int64_t n, const double* x, double* y) {
  for (std::int64_t i = 0; i < n; ++i) EvaluateFunctions{x, y}(i);
}
void copy(std::int64_t n, const double* source, double* target) {
  backend().copy(n, source, target);
}
void fill(std::int64_t n, double value, double* target) {
  backend().fill(n, value, target);
}
void write(double value, double* target) {
  backend().write(value, target);
}
double read(const double* source) {
  return backend().read(source);
}

}  // namespace echelon::test
