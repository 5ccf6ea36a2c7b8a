// SPDX-License-Identifier: BSD-3-Clause
/// Sequences of dependent loops without allocations and waits between them.
///
/// A sequence is a functor with a template operator()(Loops&), which calls the functions for_each, fill,
/// copy, scan, segmented_reduce and segmented_for_each that a backend has. On a GPU, a sequence over few
/// elements is one kernel, whose blocks wait for each other between loops: a launch takes longer than a short
/// loop. Every loop has the same result either way.
#pragma once

#include "backend/target.hpp"

#include <cstdint>

/// Precedes the template of a sequence's operator(), and those of functions that it passes its Loops to: nvcc
/// checks when a template is instantiated for the loops of the host that a GPU could call them, too. A macro:
/// a pragma has to stand at each template.
#ifdef __CUDACC__
#define ECHELON_LOOPS_ANYWHERE _Pragma("nv_exec_check_disable")
#else
#define ECHELON_LOOPS_ANYWHERE
#endif

#ifdef __CUDACC__
#include "backend/cuda/loop_sequence.cuh"
#else

namespace echelon {

/// Runs a sequence of loops over about `elements` elements each.
template <class B, class Sequence>
void run_sequence(B& backend, std::int64_t /*elements*/, const Sequence& sequence) {
  sequence(backend);
}

}  // namespace echelon

#endif
