// SPDX-License-Identifier: BSD-3-Clause
/// The orders in which a sweep may take the rows.
#pragma once

#include <echelon/enum_words.hpp>

#include <array>

namespace echelon {

enum class SweepKind {
  forward,    ///< rows 0, 1, ..., n - 1
  backward,   ///< rows n - 1, ..., 0
  symmetric,  ///< forward, then backward: counts as one sweep
};
constexpr std::array<EnumWord<SweepKind>, 3> words_of(SweepKind) {
  return {{{SweepKind::forward, "forward"},
           {SweepKind::backward, "backward"},
           {SweepKind::symmetric, "symmetric"}}};
}

}  // namespace echelon
