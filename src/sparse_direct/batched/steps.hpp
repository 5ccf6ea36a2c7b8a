// SPDX-License-Identifier: BSD-3-Clause
/// The steps of a batch: what is done for one row of one system on a GPU, or of `lanes` systems in the
/// registers of a core. Elements of `width` systems that follow each other are interleaved.
#pragma once

#include "backend/unroll.hpp"
#include "linalg/kernels/simd.hpp"
#include "sparse_direct/batched/batch_arrays.hpp"
#include "sparse_direct/batched/operations.hpp"

#include <echelon/annotate.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace echelon::sparse_direct {

/// `lanes` numbers, which stay in registers.
template <class Isa, class T, int lanes>
struct LaneValues {
  T value[lanes];

  ECHELON_ANYWHERE static LaneValues load(const T* source) {
    LaneValues result;
    for (int lane = 0; lane < lanes; ++lane) result.value[lane] = source[lane];
    return result;
  }
  ECHELON_ANYWHERE void store(T* target) const {
    for (int lane = 0; lane < lanes; ++lane) target[lane] = value[lane];
  }
  ECHELON_ANYWHERE void multiply(const LaneValues& by) {
    for (int lane = 0; lane < lanes; ++lane) value[lane] *= by.value[lane];
  }
  ECHELON_ANYWHERE void subtract_product(const LaneValues& a, const LaneValues& b) {
    for (int lane = 0; lane < lanes; ++lane) value[lane] -= a.value[lane] * b.value[lane];
  }
};

/// First element of a system in an array with `size` elements for each.
template <class Isa, int width, class T>
[[nodiscard]] ECHELON_ANYWHERE T* first_of(T* data, std::int64_t size, std::int64_t system) {
  return data + (system / width) * size * width + system % width;
}

/// Elements of A_s: in `a`, and in the factors, which are zero elsewhere.
template <class Isa, class T, int width, int lanes>
struct LoadBatchRow {
  BatchArrays<T, width> batch;
  const T* values;
  std::int64_t leading;
  std::int64_t count;  ///< of systems; others get the identity's zeros
  ECHELON_ANYWHERE void operator()(std::int64_t row, std::int64_t system) const {
    T* const a = first_of<Isa, width>(batch.a, batch.nonzeros, system);
    T* const f = first_of<Isa, width>(batch.factor, batch.entries, system);
    const std::int64_t source = batch.row_of[row];
    for (std::int64_t e = batch.offsets[row]; e < batch.offsets[row + 1]; ++e) {
      for (int lane = 0; lane < lanes; ++lane) f[e * width + lane] = T{0};
    }
    for (std::int64_t e = batch.a_offsets[source]; e < batch.a_offsets[source + 1]; ++e) {
      for (int lane = 0; lane < lanes; ++lane) {
        const T value = system + lane < count ? values[(system + lane) * leading + e] : T{0};
        a[e * width + lane] = value;
        f[batch.places[e] * width + lane] = value;
      }
    }
  }
};

/// Row of L and U: the rows of U on which it depends are ready. Multiples of up to four rows of a supernode
/// are subtracted together, so that an element is read and written once for them.
template <class Isa, class T, int width, int lanes>
struct EliminateRow {
  using Values = LaneValues<Isa, T, lanes>;
  BatchArrays<T, width> batch;
  ECHELON_ANYWHERE void operator()(std::int64_t row, std::int64_t system) const {
    T* const f = first_of<Isa, width>(batch.factor, batch.entries, system);
    T* const own = f + batch.offsets[row] * width;
    const std::int32_t* target = batch.targets + batch.target_offsets[row];
    for (std::int64_t e = batch.offsets[row]; e < batch.diagonal[row];) {
      const int rows = rows_together(e, batch.diagonal[row]);
      target = rows == 4   ? subtract<4>(e, f, own, target)
               : rows == 2 ? subtract<2>(e, f, own, target)
                           : subtract<1>(e, f, own, target);
      e += rows;
    }
    T* const pivot = f + batch.diagonal[row] * width;
    for (int lane = 0; lane < lanes; ++lane) pivot[lane] = T{1} / pivot[lane];
  }

 private:
  /// 4, 2 or 1: elements of L from e on whose rows of U have the same columns to the right of these.
  [[nodiscard]] ECHELON_ANYWHERE int rows_together(std::int64_t e, std::int64_t end) const {
    int rows = 1;
    while (rows < 4 && e + rows < end &&
           batch.followers[batch.indices[e + rows - 1]] == batch.indices[e + rows]) {
      ++rows;
    }
    return rows == 3 ? 2 : rows;
  }
  /// Computes the `rows` elements of L from e on, subtracts their multiples of rows of U, and returns the
  /// next target.
  template <int rows>
  ECHELON_ANYWHERE const std::int32_t* subtract(std::int64_t e, T* f, T* own,
                                                const std::int32_t* target) const {
    Values multiplier[rows];
    const T* tail[rows];  // of the rows of U, to the right of the last of these columns
    ECHELON_UNROLL_BY(4)
    for (int r = 0; r < rows; ++r) {
      const std::int64_t diagonal = batch.diagonal[batch.indices[e + r]];
      multiplier[r] = Values::load(f + (e + r) * width);
      ECHELON_UNROLL_BY(4)
      for (int q = 0; q < r; ++q)
        multiplier[r].subtract_product(multiplier[q], Values::load(tail[q] + (r - rows) * width));
      multiplier[r].multiply(Values::load(f + diagonal * width));
      multiplier[r].store(f + (e + r) * width);
      tail[r] = f + (diagonal + rows - r) * width;
      if (r > 0) target += rows - r;
    }
    const std::int64_t last = batch.indices[e + rows - 1];
    const std::int64_t length = batch.offsets[last + 1] - batch.diagonal[last] - 1;
    target += (rows - 1) * length;
    for (std::int64_t u = 0; u < length; ++u) {
      T* const element = own + static_cast<std::int64_t>(*target++) * width;
      Values sum = Values::load(element);
      ECHELON_UNROLL_BY(4)
      for (int r = 0; r < rows; ++r) sum.subtract_product(multiplier[r], Values::load(tail[r] + u * width));
      sum.store(element);
    }
    return target;
  }
};

/// Starts with x = 0, whose residual is b.
template <class Isa, class T, int width, int lanes>
struct LoadRhs {
  BatchArrays<T, width> batch;
  const T* rhs;  ///< of the first system
  std::int64_t stride;
  std::int64_t count;
  ECHELON_ANYWHERE void operator()(std::int64_t row, std::int64_t system) const {
    T* const b = first_of<Isa, width>(batch.b, batch.n, system) + row * width;
    T* const r = first_of<Isa, width>(batch.residual, batch.n, system) + row * width;
    T* const x = first_of<Isa, width>(batch.x, batch.n, system) + row * width;
    for (int lane = 0; lane < lanes; ++lane) {
      const T* const own = rhs + (system + lane) * stride;
      b[lane] = r[lane] = system + lane < count ? own[row] : T{0};
      x[lane] = T{0};
    }
  }
};

/// L y = r.
template <class Isa, class T, int width, int lanes>
struct SolveLowerRow {
  using Values = LaneValues<Isa, T, lanes>;
  BatchArrays<T, width> batch;
  ECHELON_ANYWHERE void operator()(std::int64_t row, std::int64_t system) const {
    const T* const f = first_of<Isa, width>(batch.factor, batch.entries, system);
    const T* const r = first_of<Isa, width>(batch.residual, batch.n, system);
    T* const y = first_of<Isa, width>(batch.work, batch.n, system);
    Values sum = Values::load(r + static_cast<std::int64_t>(batch.row_of[row]) * width);
    for (std::int64_t e = batch.offsets[row]; e < batch.diagonal[row]; ++e) {
      sum.subtract_product(Values::load(f + e * width),
                           Values::load(y + static_cast<std::int64_t>(batch.indices[e]) * width));
    }
    sum.store(y + row * width);
  }
};

/// U d = y, and x becomes x + d.
template <class Isa, class T, int width, int lanes>
struct SolveUpperRow {
  using Values = LaneValues<Isa, T, lanes>;
  BatchArrays<T, width> batch;
  ECHELON_ANYWHERE void operator()(std::int64_t row, std::int64_t system) const {
    const T* const f = first_of<Isa, width>(batch.factor, batch.entries, system);
    T* const d = first_of<Isa, width>(batch.work, batch.n, system);
    T* const x = first_of<Isa, width>(batch.x, batch.n, system) +
                 static_cast<std::int64_t>(batch.column_of[row]) * width;
    Values sum = Values::load(d + row * width);
    for (std::int64_t e = batch.diagonal[row] + 1; e < batch.offsets[row + 1]; ++e) {
      sum.subtract_product(Values::load(f + e * width),
                           Values::load(d + static_cast<std::int64_t>(batch.indices[e]) * width));
    }
    sum.multiply(Values::load(f + batch.diagonal[row] * width));
    sum.store(d + row * width);
    for (int lane = 0; lane < lanes; ++lane) x[lane] += sum.value[lane];
  }
};

/// r = b - A x, by A's rows, with the componentwise backward error |r| / (|A| |x| + |b|) of each.
template <class Isa, class T, int width, int lanes>
struct MeasureBatchRow {
  static constexpr T smallest = std::numeric_limits<T>::min();  // instead of 0 / 0
  BatchArrays<T, width> batch;
  /// Also leaves the backward error in `work`.
  ECHELON_ANYWHERE void operator()(std::int64_t row, std::int64_t system) const {
    T error[lanes];
    measure(row, system, error);
    T* const errors = first_of<Isa, width>(batch.work, batch.n, system) + row * width;
    for (int lane = 0; lane < lanes; ++lane) errors[lane] = error[lane];
  }
  ECHELON_ANYWHERE void measure(std::int64_t row, std::int64_t system, T* error) const {
    const T* const a = first_of<Isa, width>(batch.a, batch.nonzeros, system);
    const T* const x = first_of<Isa, width>(batch.x, batch.n, system);
    const T* const b = first_of<Isa, width>(batch.b, batch.n, system) + row * width;
    T* const r = first_of<Isa, width>(batch.residual, batch.n, system) + row * width;
    T sum[lanes];
    T scale[lanes];
    for (int lane = 0; lane < lanes; ++lane) {
      sum[lane] = b[lane];
      scale[lane] = fabs(b[lane]);
    }
    for (std::int64_t e = batch.a_offsets[row]; e < batch.a_offsets[row + 1]; ++e) {
      const T* const element = a + e * width;
      const T* const factor = x + static_cast<std::int64_t>(batch.a_indices[e]) * width;
      for (int lane = 0; lane < lanes; ++lane) {
        const T product = element[lane] * factor[lane];
        sum[lane] -= product;
        scale[lane] += fabs(product);
      }
    }
    for (int lane = 0; lane < lanes; ++lane) {
      r[lane] = sum[lane];
      error[lane] = fabs(sum[lane]) / (scale[lane] + smallest);
    }
  }
  [[nodiscard]] ECHELON_ANYWHERE static T fabs(T number) { return std::fabs(number); }
};

/// Maxima of magnitudes; NaN stays.
template <class V>
[[nodiscard]] ECHELON_ANYWHERE V larger_magnitude(V largest, V value) {
  const V size = value < V{0} ? -value : value;
  return largest >= size || largest != largest ? largest : size;
}

/// Maxima, and sums of squares, over some rows of a system.
struct PartialResidual {
  double error = 0, r = 0, b = 0;
  double r_squares = 0, b_squares = 0;
};

/// Adds a row's figures.
[[nodiscard]] ECHELON_ANYWHERE inline PartialResidual with_row(const PartialResidual& sums, double error,
                                                               double r, double b) {
  return {larger_magnitude(sums.error, error), larger_magnitude(sums.r, r), larger_magnitude(sums.b, b),
          sums.r_squares + r * r, sums.b_squares + b * b};
}

/// Maxima and sums over the rows of one chunk of one system.
template <class T, int width>
struct CombineRows {
  static constexpr std::int64_t chunk = 256;

  BatchArrays<T, width> batch;
  std::int64_t systems;
  PartialResidual* partial;  ///< by chunks, then by systems
  ECHELON_ANYWHERE void operator()(std::int64_t index) const {
    using kernels::Portable;
    const std::int64_t system = index % systems;
    const std::int64_t begin = index / systems * chunk;
    const std::int64_t end = begin + chunk < batch.n ? begin + chunk : batch.n;
    const T* const error = first_of<Portable, width>(batch.work, batch.n, system);
    const T* const r = first_of<Portable, width>(batch.residual, batch.n, system);
    const T* const b = first_of<Portable, width>(batch.b, batch.n, system);
    PartialResidual sums;
    for (std::int64_t i = begin * width; i < end * width; i += width) {
      sums =
          with_row(sums, static_cast<double>(error[i]), static_cast<double>(r[i]), static_cast<double>(b[i]));
    }
    partial[index] = sums;
  }
};

/// ||r|| / ||b||, or a bound of it where squares overflow or underflow; NaN stays.
[[nodiscard]] ECHELON_ANYWHERE inline double ratio_of_norms(const PartialResidual& sums, std::int64_t n) {
  constexpr double largest = 1e300;
  constexpr double smallest = 1e-300;
  if (sums.r == 0) return 0;
  if (sums.r_squares < largest && sums.b_squares < largest && sums.b_squares > smallest) {
    return std::sqrt(sums.r_squares / sums.b_squares);
  }
  return std::sqrt(static_cast<double>(n)) * (sums.r / sums.b);
}

/// Figures of the right-hand sides before and of the one with these sums.
[[nodiscard]] ECHELON_ANYWHERE inline SystemResidual with_column(const SystemResidual& before,
                                                                 const PartialResidual& sums,
                                                                 std::int64_t n) {
  return {larger_magnitude(before.backward_error, sums.error),
          larger_magnitude(before.relative_residual, ratio_of_norms(sums, n))};
}

/// Over the chunks of a system.
struct CombineChunks {
  const PartialResidual* partial;
  std::int64_t chunks;
  std::int64_t systems;
  PartialResidual* results;
  ECHELON_ANYWHERE void operator()(std::int64_t system) const {
    PartialResidual sums;
    for (std::int64_t c = 0; c < chunks; ++c) {
      const PartialResidual& part = partial[c * systems + system];
      sums = {larger_magnitude(sums.error, part.error), larger_magnitude(sums.r, part.r),
              larger_magnitude(sums.b, part.b), sums.r_squares + part.r_squares,
              sums.b_squares + part.b_squares};
    }
    results[system] = sums;
  }
};

/// Adds the figures of a right-hand side of each system to those before.
struct AddColumn {
  const PartialResidual* sums;
  std::int64_t n;
  bool first_column;
  SystemResidual* results;
  ECHELON_ANYWHERE void operator()(std::int64_t system) const {
    results[system] = with_column(first_column ? SystemResidual{} : results[system], sums[system], n);
  }
};

/// X of the caller.
template <class Isa, class T, int width, int lanes>
struct StoreBatchRow {
  BatchArrays<T, width> batch;
  T* solution;  ///< of the first system
  std::int64_t stride;
  std::int64_t count;
  ECHELON_ANYWHERE void operator()(std::int64_t row, std::int64_t system) const {
    const T* const x = first_of<Isa, width>(batch.x, batch.n, system) + row * width;
    for (int lane = 0; lane < lanes && system + lane < count; ++lane) {
      solution[(system + lane) * stride + row] = x[lane];
    }
  }
};

}  // namespace echelon::sparse_direct
