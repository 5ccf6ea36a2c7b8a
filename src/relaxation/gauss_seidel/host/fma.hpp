// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace echelon {

// Disabled with the address sanitizer: with everything inlined gcc takes minutes to compile a sweep.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
/// Calls f, compiled for processors with fused multiply-add, which the baseline of x86-64 lacks. Everything
/// that f calls and the compiler can inline is compiled so.
template <class F>
[[gnu::target("fma"), gnu::flatten]] void call_with_fma_instructions(const F& f) {
  f();
}
#endif

/// Calls f with the processor's fused multiply-add where it exists. Elsewhere the C library computes the same
/// bits, slowly.
template <class F>
void with_fused_multiply_add(const F& f) {
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
  if (__builtin_cpu_supports("fma") != 0) {
    call_with_fma_instructions(f);
    return;
  }
#endif
  f();
}

}  // namespace echelon
