// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/batched/batch_arrays.hpp"
#include "sparse_direct/batched/elimination_program.hpp"

#include <echelon/array.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

/// An elimination program and the pattern of A in the memory of a device.
class DeviceProgram {
 public:
  DeviceProgram(const Device& device, const BatchPattern& A, const EliminationProgram& program)
      : n_(program.n()),
        row_of_(device, std::span(program.rows)),
        column_of_(device, std::span(program.columns)),
        offsets_(device, std::span(program.offsets)),
        diagonal_(device, std::span(program.diagonal)),
        indices_(device, std::span(program.indices)),
        targets_(device, std::span(program.targets)),
        target_offsets_(device, std::span(program.target_offsets)),
        places_(device, std::span(program.places)),
        followers_(device, std::span(program.followers)),
        a_offsets_(device, A.offsets),
        a_indices_(device, A.indices),
        forward_(device, std::span(program.forward.rows)),
        backward_(device, std::span(program.backward.rows)) {}

  [[nodiscard]] std::int64_t n() const { return n_; }
  [[nodiscard]] const std::int32_t* forward_rows() const { return forward_.data(); }
  [[nodiscard]] const std::int32_t* backward_rows() const { return backward_.data(); }

  /// Elements that one system needs in `arrays`.
  [[nodiscard]] std::int64_t elements() const { return indices_.size() + a_indices_.size() + 4 * n_; }
  /// The arrays of this many systems, a multiple of `width`, in `memory`.
  template <class T, int width>
  [[nodiscard]] BatchArrays<T, width> arrays(T* memory, std::int64_t systems) const {
    T* const a = memory + systems * indices_.size();
    T* const b = a + systems * a_indices_.size();
    return {n_,
            indices_.size(),
            a_indices_.size(),
            row_of_.data(),
            column_of_.data(),
            offsets_.data(),
            diagonal_.data(),
            indices_.data(),
            targets_.data(),
            target_offsets_.data(),
            places_.data(),
            followers_.data(),
            a_offsets_.data(),
            a_indices_.data(),
            memory,
            a,
            b,
            b + systems * n_,
            b + 2 * systems * n_,
            b + 3 * systems * n_};
  }

 private:
  std::int64_t n_;
  Array<std::int32_t> row_of_, column_of_;
  Array<std::int64_t> offsets_, diagonal_;
  Array<std::int32_t> indices_, targets_;
  Array<std::int64_t> target_offsets_, places_;
  Array<std::int32_t> followers_;
  Array<std::int64_t> a_offsets_;
  Array<std::int32_t> a_indices_;
  Array<std::int32_t> forward_, backward_;
};

}  // namespace echelon::sparse_direct
