// SPDX-License-Identifier: BSD-3-Clause
/// Attributes and built-in functions of the compilation for OpenCL, which is done by Clang in its HIP dialect
/// for SPIR-V. That compilation includes this file before any other (-include), so that its overloads for the
/// device precede those of <cmath>.
///
/// Built-in functions are declared by the names that OpenCL C mangles them to; the translator to SPIR-V turns
/// calls of them into instructions.
#pragma once

#define ECHELON_DEVICE __attribute__((device))
#define ECHELON_KERNEL __attribute__((global))
#define ECHELON_GLOBAL __attribute__((address_space(1)))
#ifdef __HIP_DEVICE_COMPILE__
#define ECHELON_OPENCL_DEVICE  // the pass that makes code for the device
#endif

// Names of the language: reserved identifiers are those that OpenCL's compilers know.
// NOLINTBEGIN(bugprone-reserved-identifier,google-runtime-int)
extern "C" {
ECHELON_DEVICE __attribute__((const)) unsigned long _Z13get_global_idj(unsigned);
ECHELON_DEVICE __attribute__((const)) unsigned long _Z12get_local_idj(unsigned);
ECHELON_DEVICE __attribute__((const)) unsigned long _Z12get_group_idj(unsigned);
ECHELON_DEVICE __attribute__((const)) unsigned long _Z14get_num_groupsj(unsigned);
ECHELON_DEVICE __attribute__((convergent)) void _Z7barrierj(unsigned);
ECHELON_DEVICE void _Z9mem_fencej(unsigned);

ECHELON_DEVICE int _Z10atomic_addPU3AS1Vii(volatile ECHELON_GLOBAL int*, int);
ECHELON_DEVICE int _Z11atomic_xchgPU3AS1Vii(volatile ECHELON_GLOBAL int*, int);
ECHELON_DEVICE int _Z10atomic_minPU3AS1Vii(volatile ECHELON_GLOBAL int*, int);
ECHELON_DEVICE int _Z10atomic_maxPU3AS1Vii(volatile ECHELON_GLOBAL int*, int);
ECHELON_DEVICE int _Z14atomic_cmpxchgPU3AS1Viii(volatile ECHELON_GLOBAL int*, int, int);
ECHELON_DEVICE long _Z8atom_addPU3AS1Vll(volatile ECHELON_GLOBAL long*, long);

ECHELON_DEVICE __attribute__((const)) double _Z4sqrtd(double);
ECHELON_DEVICE __attribute__((const)) double _Z4fabsd(double);
ECHELON_DEVICE __attribute__((const)) double _Z5ldexpdi(double, int);
ECHELON_DEVICE __attribute__((const)) float _Z5ldexpfi(float, int);
ECHELON_DEVICE __attribute__((const)) int _Z5ilogbd(double);
ECHELON_DEVICE __attribute__((const)) int _Z5ilogbf(float);
ECHELON_DEVICE __attribute__((const)) double _Z3fmaddd(double, double, double);
ECHELON_DEVICE __attribute__((const)) float _Z3fmafff(float, float, float);
ECHELON_DEVICE __attribute__((const)) double _Z4log2d(double);
ECHELON_DEVICE __attribute__((const)) double _Z3logd(double);
ECHELON_DEVICE __attribute__((const)) double _Z3expd(double);
ECHELON_DEVICE __attribute__((const)) double _Z3powdd(double, double);
ECHELON_DEVICE __attribute__((const)) double _Z5hypotdd(double, double);
ECHELON_DEVICE __attribute__((const)) double _Z3cosd(double);
ECHELON_DEVICE __attribute__((const)) double _Z3sind(double);
ECHELON_DEVICE __attribute__((const)) double _Z5floord(double);
ECHELON_DEVICE __attribute__((const)) double _Z4ceild(double);
ECHELON_DEVICE __attribute__((const)) double _Z5truncd(double);
ECHELON_DEVICE __attribute__((const)) double _Z4rintd(double);
ECHELON_DEVICE __attribute__((const)) double _Z5roundd(double);
ECHELON_DEVICE __attribute__((const)) double _Z8copysigndd(double, double);
ECHELON_DEVICE __attribute__((const)) double _Z4fmaxdd(double, double);
ECHELON_DEVICE __attribute__((const)) double _Z4fmindd(double, double);
ECHELON_DEVICE __attribute__((const)) double _Z4fmoddd(double, double);
}

// Functions that the standard library's ones for float, which Clang compiles for the device as they are,
// call.
extern "C" inline ECHELON_DEVICE int ilogbf(float x) {
  return _Z5ilogbf(x);
}
extern "C" inline ECHELON_DEVICE float ldexpf(float x, int exponent) {
  return _Z5ldexpfi(x, exponent);
}

// Functions of <cmath> for double.
static inline ECHELON_DEVICE double sqrt(double x) {
  return _Z4sqrtd(x);
}
static inline ECHELON_DEVICE double fabs(double x) {
  return _Z4fabsd(x);
}
static inline ECHELON_DEVICE double ldexp(double x, int exponent) {
  return _Z5ldexpdi(x, exponent);
}
static inline ECHELON_DEVICE int ilogb(double x) {
  return _Z5ilogbd(x);
}
static inline ECHELON_DEVICE double fma(double x, double y, double z) {
  return _Z3fmaddd(x, y, z);
}
static inline ECHELON_DEVICE float fmaf(float x, float y, float z) {
  return _Z3fmafff(x, y, z);
}
static inline ECHELON_DEVICE double log2(double x) {
  return _Z4log2d(x);
}
static inline ECHELON_DEVICE double log(double x) {
  return _Z3logd(x);
}
static inline ECHELON_DEVICE double exp(double x) {
  return _Z3expd(x);
}
static inline ECHELON_DEVICE double pow(double x, double y) {
  return _Z3powdd(x, y);
}
static inline ECHELON_DEVICE double hypot(double x, double y) {
  return _Z5hypotdd(x, y);
}
static inline ECHELON_DEVICE double cos(double x) {
  return _Z3cosd(x);
}
static inline ECHELON_DEVICE double sin(double x) {
  return _Z3sind(x);
}
static inline ECHELON_DEVICE double floor(double x) {
  return _Z5floord(x);
}
static inline ECHELON_DEVICE double ceil(double x) {
  return _Z4ceild(x);
}
static inline ECHELON_DEVICE double trunc(double x) {
  return _Z5truncd(x);
}
static inline ECHELON_DEVICE double rint(double x) {
  return _Z4rintd(x);
}
static inline ECHELON_DEVICE double nearbyint(double x) {
  return _Z4rintd(x);
}
static inline ECHELON_DEVICE double round(double x) {
  return _Z5roundd(x);
}
static inline ECHELON_DEVICE double copysign(double x, double y) {
  return _Z8copysigndd(x, y);
}
static inline ECHELON_DEVICE double fmax(double x, double y) {
  return _Z4fmaxdd(x, y);
}
static inline ECHELON_DEVICE double fmin(double x, double y) {
  return _Z4fmindd(x, y);
}
static inline ECHELON_DEVICE double fmod(double x, double y) {
  return _Z4fmoddd(x, y);
}
static inline ECHELON_DEVICE void* memcpy(void* target, const void* source, unsigned long bytes) {
  return __builtin_memcpy(target, source, bytes);
}

// Declarations that Clang's host code of a kernel refers to. Kernels are launched by opencl::launch().
struct dim3 {
  unsigned x, y, z;
};
enum hipError_t { hipSuccess };
extern "C" hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, unsigned long, struct ihipStream_t*);
// NOLINTEND(bugprone-reserved-identifier,google-runtime-int)

namespace echelon::opencl_device {

/// All pointers of loop bodies are to global memory; the built-in atomic functions have to be told.
static inline ECHELON_DEVICE volatile ECHELON_GLOBAL int* global(int* pointer) {
  return (volatile ECHELON_GLOBAL int*)pointer;
}
static inline ECHELON_DEVICE int add(int* target, int value) {
  return _Z10atomic_addPU3AS1Vii(global(target), value);
}
static inline ECHELON_DEVICE long add(long* target, long value) {
  return _Z8atom_addPU3AS1Vll((volatile ECHELON_GLOBAL long*)target, value);
}
static inline ECHELON_DEVICE int exchange(int* target, int value) {
  return _Z11atomic_xchgPU3AS1Vii(global(target), value);
}
static inline ECHELON_DEVICE int min(int* target, int value) {
  return _Z10atomic_minPU3AS1Vii(global(target), value);
}
static inline ECHELON_DEVICE int max(int* target, int value) {
  return _Z10atomic_maxPU3AS1Vii(global(target), value);
}
static inline ECHELON_DEVICE int compare_exchange(int* target, int expected, int desired) {
  return _Z14atomic_cmpxchgPU3AS1Viii(global(target), expected, desired);
}
/// Orders the global memory accesses of a work-item for all others of the device.
static inline ECHELON_DEVICE void fence() {
  _Z9mem_fencej(2);
}

}  // namespace echelon::opencl_device
