// SPDX-License-Identifier: BSD-3-Clause
/// Operations of the backend OpenCl with loop bodies for its tests. GoogleTest's headers cannot be compiled
/// for OpenCL, so that these functions are in a file of their own. All pointers are to the device's memory.
#pragma once

#include "backend/backend.hpp"

#include <cstdint>

namespace echelon::test {

/// Number of functions of <cmath> that are evaluated for each argument.
inline constexpr int math_functions = 8;

/// Throws DeviceMismatch for a device of another kind.
void make_backend(const Device& device);
/// target[i] = i^2.
void square_indices(std::int64_t n, std::int64_t* target);
template <class T>
double sum(std::int64_t n, const T* x);
double largest_magnitude(std::int64_t n, const double* x);
/// The first element above the bound.
std::int64_t first_above(std::int64_t n, const double* x, double bound);
std::int64_t exclusive_scan(std::int64_t n, const std::int64_t* counts, std::int64_t* offsets);
void scan(std::int64_t n, const std::int64_t* counts, std::int64_t* offsets);
template <class K, class V>
void sort_by_key(std::int64_t n, int first_bit, int last_bit, const K* keys, K* sorted_keys, const V* values,
                 V* sorted_values);
std::int64_t select(std::int64_t n, const std::uint8_t* flags, const std::uint32_t* source,
                    std::uint32_t* target);
void segmented_sums(std::int64_t n, const std::int64_t* offsets, const double* x, double* sums);
/// Adds s + 1 to visits[k] for each k of segment s.
void visit_segments(std::int64_t n, const std::int64_t* offsets, std::int32_t* visits);
/// Adds 1 to one of three sums, and i to the total; keeps the least and the largest i, and one i as the
/// owner.
void use_atomics(std::int64_t n, std::int32_t* sums, std::int64_t* total, std::int32_t* extremes,
                 std::int32_t* owner);
/// y has `math_functions` elements for each element of x.
void evaluate_functions(std::int64_t n, const double* x, double* y);
void evaluate_functions_on_host(std::int64_t n, const double* x, double* y);
void copy(std::int64_t n, const double* source, double* target);
void fill(std::int64_t n, double value, double* target);
void write(double value, double* target);
double read(const double* source);

}  // namespace echelon::test
