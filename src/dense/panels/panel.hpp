// SPDX-License-Identifier: BSD-3-Clause
/// The steps of blocked Gauss-Jordan elimination that are written natively for each backend; everything else
/// is multiplication of matrices.
///
/// A panel is a block of columns, all m rows high. Eliminating with the p pivots found in it multiplies the
/// whole matrix from the left by a matrix that differs from the identity in p columns. These columns, G
/// (m by p), replace the p pivot columns of the panel. Applying the panel to other columns X is then
///
///     W = the pivot rows of X (p rows),   those rows of X = 0,   X = X + G W.
///
/// The columns of the panel that got no pivot have their reduced form at once and never change again: they
/// are zero in every row that is still to become a pivot row.
#pragma once

#include "linalg/blas/float_products.hpp"

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>
#include <echelon/dense.hpp>

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace echelon {

class Serial;
class OpenMp;
class Cuda;

/// What the elimination has come to; lives in the backend's memory.
///
/// When its turn comes, a column reads x in the rows that have pivots and s in the others: it is the
/// combination x of the pivot columns, but for s. Its pivot, the largest element of s, is judged by
/// ||s||_inf / max(1, ||x||_inf): A would have to change by about that much to make the column dependent.
struct EliminationState {
  std::int64_t rank = 0;
  double smallest_accepted = DBL_MAX;
  double largest_rejected = -1;       ///< of the columns without a pivot; negative: every column had one
  std::int64_t overflow_column = -1;  ///< where a pivot was not finite: nothing more is done from there on
  double tolerance = 0;               ///< pivots of this size or less are none
};

enum class PivotVerdict { accepted, rejected, overflow };

struct PivotJudgement {
  PivotVerdict verdict;
  double size;  ///< as EliminationState tells it
};

/// Judges the largest element of s beside that of x, by magnitude.
ECHELON_ANYWHERE inline PivotJudgement judge_pivot(double pivot, double above, double tolerance) {
  if (!(pivot + above <= DBL_MAX)) return {PivotVerdict::overflow, 0};
  const double size = pivot / (above > 1 ? above : 1);
  return {size <= tolerance ? PivotVerdict::rejected : PivotVerdict::accepted, size};
}

ECHELON_ANYWHERE inline void record(const PivotJudgement& judgement, std::int64_t column,
                                    EliminationState& state) {
  const double size = judgement.size;
  switch (judgement.verdict) {
    case PivotVerdict::accepted:
      if (size < state.smallest_accepted) state.smallest_accepted = size;
      break;
    case PivotVerdict::rejected:
      if (size > state.largest_rejected) state.largest_rejected = size;
      break;
    case PivotVerdict::overflow:
      state.overflow_column = column;
  }
}

/// Where the pivots are, by number; in the backend's memory.
template <class T>
struct PivotList {
  std::int64_t* rows;     ///< rows[k] >= k was exchanged with row k
  std::int64_t* columns;  ///< ascending
  T* values;
};

/// Rows [first, last) of pivots.
struct PivotRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t count() const { return last - first; }
};

/// Scratch of the panel steps: `rows` holds W, and `columns` the columns of G where they do not lie side by
/// side. For panels of b columns in an m by n matrix: b n and b m elements.
template <class T>
struct PanelScratch {
  Array<T> rows;
  Array<T> columns;
};

/// Finds pivots in columns [begin, end) of A, among the rows from state->rank on, by magnitude, the upper of
/// two equals; a column for which ||s||_inf / max(1, ||x||_inf) is at most state->tolerance gets none. Leaves
/// G in the columns with a pivot, the reduced form in the others, and adds to `state` and `pivots`. Only
/// these columns are touched. 2 m (end - begin)^2 flops.
template <class T>
void factor_panel(Serial& backend, DenseView<T> A, std::int64_t begin, std::int64_t end,
                  EliminationState* state, const PivotList<T>& pivots, PanelScratch<T>& scratch);
template <class T>
void factor_panel(OpenMp& backend, DenseView<T> A, std::int64_t begin, std::int64_t end,
                  EliminationState* state, const PivotList<T>& pivots, PanelScratch<T>& scratch);
template <class T>
void factor_panel(Cuda& backend, DenseView<T> A, std::int64_t begin, std::int64_t end,
                  EliminationState* state, const PivotList<T>& pivots, PanelScratch<T>& scratch);

/// How a GPU cuts panels into leaves. 0: chosen by the matrix and the GPU.
struct PanelTuning {
  int leaf = 0;     ///< at most so many columns are eliminated by one kernel
  int cluster = 0;  ///< at most so many thread blocks hold them together
};

/// The most columns of a panel on a GPU: twice as many threads exchange rows.
inline constexpr std::int64_t widest_panel = 512;

/// How many columns panels should have on a GPU, which is asked but not waited for.
///
/// While the columns take longer than the multiplications, a panel is one leaf, of n / 24 columns if they
/// fit: the later columns of a wide one wait for the earlier ones. From then on multiplications want n / 32.
template <class T>
[[nodiscard]] std::int64_t fastest_panel(const Cuda& backend, std::int64_t rows, std::int64_t columns);

/// A second stream of a GPU, for what can be done beside the large multiplications.
class SideStream;

/// Where work on the backend leaves small results for the host, which can look at them as soon as they are
/// there, whatever was queued after them.
template <class B>
class Mailbox {
 public:
  static constexpr std::size_t room = 512;  ///< bytes

  explicit Mailbox(const Device&) {}
  /// An object for the backend's work to write, and for the host to read.
  template <class V>
  [[nodiscard]] V* at() {
    static_assert(sizeof(V) <= room && std::is_trivially_copyable_v<V>);
    return reinterpret_cast<V*>(memory_);
  }
  /// `wait` waits for what was queued before.
  void mark() {}
  void wait() {}

 private:
  alignas(std::max_align_t) unsigned char memory_[room] = {};
};

/// What eliminations keep from one to the next, for one thread at a time.
template <class B>
struct EliminationTools {
  explicit EliminationTools(const Device& device) : backend(device), mailbox(device) {}
  B backend;
  Mailbox<B> mailbox;
  FloatProducts products = FloatProducts::in_float;
};

/// The whole elimination on a GPU, queued without waiting, in panels of `block` columns; `both_sides` for the
/// inverse. ranks[i] (device memory, one more than there are panels) becomes the rank before panel i, and
/// ranks[0] is that before the first.
/// The sizes of all steps are those for a full rank; where a column has no pivot, zeros are multiplied.
/// With `side`, the next panel is eliminated while the large multiplication with this one goes on. Of floats,
/// `products` says how that is formed.
template <class T>
void eliminate(Cuda& backend, DenseView<T> A, std::int64_t block, bool both_sides, EliminationState* state,
               std::int64_t* ranks, const PivotList<T>& pivots, PanelScratch<T>& scratch,
               const PanelTuning& tuning = {}, SideStream* side = nullptr,
               FloatProducts products = FloatProducts::in_float);

/// For the pivots in `range`, in their order, exchanges the rows of X as the elimination did; then moves the
/// pivot rows to W (range.count() by X.columns(), as compact as can be) and puts zeros in their place.
template <class T>
void take_pivot_rows(Serial& backend, DenseView<T> X, PivotRange range, const std::int64_t* rows, T* W);
template <class T>
void take_pivot_rows(OpenMp& backend, DenseView<T> X, PivotRange range, const std::int64_t* rows, T* W);
template <class T>
void take_pivot_rows(Cuda& backend, DenseView<T> X, PivotRange range, const std::int64_t* rows, T* W);

/// The elements of x at the pivots in `range` become `products`; then the exchanges of rows are undone.
template <class T>
void put_back_pivot_rows(Serial& backend, PivotRange range, const std::int64_t* rows, const T* products,
                         T* x);
template <class T>
void put_back_pivot_rows(OpenMp& backend, PivotRange range, const std::int64_t* rows, const T* products,
                         T* x);
template <class T>
void put_back_pivot_rows(Cuda& backend, PivotRange range, const std::int64_t* rows, const T* products, T* x);

/// places[i] = the row where what was in row i of n is after the exchanges of rows; i where the rank is less
/// than `least_rank`.
void find_places(Cuda& backend, std::int64_t n, const std::int64_t* rows, std::int64_t least_rank,
                 const EliminationState* state, int* places);

/// Exchanges columns k and rows[k] of A for k = n - 1, ..., 0: A P, for the inverse. Does nothing unless
/// state->rank is A.columns().
template <class T>
void put_back_columns(Serial& backend, DenseView<T> A, const std::int64_t* rows,
                      const EliminationState* state);
template <class T>
void put_back_columns(OpenMp& backend, DenseView<T> A, const std::int64_t* rows,
                      const EliminationState* state);
template <class T>
void put_back_columns(Cuda& backend, DenseView<T> A, const std::int64_t* rows, const EliminationState* state);

/// A matrix at a glance.
struct MatrixScan {
  double largest = 0;  ///< magnitude
  double norm_inf = 0;
  std::int64_t row = -1;  ///< of the first element, row by row, that is NaN or Inf; negative when none is
  std::int64_t column = -1;
};

/// Magnitudes near the ends of T's range would overflow on the way.
template <class T>
ECHELON_ANYWHERE bool far_from_one(double magnitude) {
  constexpr int far = std::numeric_limits<T>::max_exponent / 4;
  const int exponent = magnitude > 0 ? std::ilogb(magnitude) : 0;
  return exponent < -far || exponent > far;
}

/// One pass over A. `row_sums`: A.rows() elements for the sums of magnitudes along the rows. The backend's
/// work writes `result`; does not wait.
template <class T>
void scan(Serial& backend, DenseView<const T> A, double* row_sums, MatrixScan* result);
template <class T>
void scan(OpenMp& backend, DenseView<const T> A, double* row_sums, MatrixScan* result);
template <class T>
void scan(Cuda& backend, DenseView<const T> A, double* row_sums, MatrixScan* result);

/// The same, and waits.
template <class T, class B>
MatrixScan scan(EliminationTools<B>& tools, DenseView<const T> A, double* row_sums) {
  auto* const result = tools.mailbox.template at<MatrixScan>();
  scan(tools.backend, A, row_sums, result);
  tools.mailbox.mark();
  tools.mailbox.wait();
  return *result;
}
template <class T, class B>
MatrixScan scan(B& backend, DenseView<const T> A, double* row_sums) {
  Array<MatrixScan> result(A.device(), 1);
  scan(backend, A, row_sums, result.data());
  return backend.read(result.data());
}

}  // namespace echelon
