// SPDX-License-Identifier: BSD-3-Clause
/// The steps of blocked Gauss-Jordan elimination that are written natively for each backend; everything else
/// is multiplication of matrices.
///
/// A panel is a block of columns, all m rows high. Elimination with the p pivots found in it multiplies the
/// whole matrix from the left by a matrix that differs from the identity in p columns. These columns, G
/// (m by p), replace the p pivot columns of the panel. Applying the panel to other columns X is then
///
///     W = the pivot rows of X (p rows),   those rows of X = 0,   X = X + G W.
///
/// The columns of the panel without a pivot have their reduced form at once and never change again: they are
/// zero in every row that may still become a pivot row.
#pragma once

#include "dense/panels/pivot.hpp"
#include "dense/panels/scan.hpp"
#include "dense/panels/workspace.hpp"
#include "linalg/blas/float_products.hpp"

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/scalar.hpp>

#include <cstdint>

namespace echelon {

class Host;
class Cuda;
class OpenCl;

/// Finds pivots in columns [begin, end) of A among the rows from state->rank on: the largest magnitude, the
/// upper row of two equal ones. A pivot of size state->tolerance or less is rejected. Leaves G in the columns
/// with a pivot and the reduced form in the others, and extends `state` and `pivots`. Reads and writes no
/// other columns. 2 m (end - begin)^2 flops.
template <class T>
void factor_panel(Host& backend, DenseView<T> A, std::int64_t begin, std::int64_t end,
                  EliminationState* state, const PivotList<T>& pivots, PanelWorkspace<T>& workspace);
template <class T>
void factor_panel(Cuda& backend, DenseView<T> A, std::int64_t begin, std::int64_t end,
                  EliminationState* state, const PivotList<T>& pivots, PanelWorkspace<T>& workspace);
template <class T>
void factor_panel(OpenCl& backend, DenseView<T> A, std::int64_t begin, std::int64_t end,
                  EliminationState* state, const PivotList<T>& pivots, PanelWorkspace<T>& workspace);

/// Upper bounds on the division of a panel into leaves on a GPU. 0: selected by the matrix and the GPU.
struct PanelTuning {
  int leaf_columns = 0;    ///< columns that one kernel eliminates
  int cluster_blocks = 0;  ///< thread blocks that hold a leaf
};

/// Most columns of a panel on a GPU: rows are exchanged by two threads for each column of a panel.
inline constexpr std::int64_t max_panel_width = 512;

/// Selects the panel width on a GPU from its properties, without waiting for queued work.
///
/// While the panels take longer than the multiplications, a panel is one leaf of n / 24 columns if they fit:
/// the later columns of a wide leaf depend on more earlier ones. For larger n the multiplications decide, and
/// n / 32 columns make them efficient.
template <class T>
[[nodiscard]] std::int64_t select_panel_width(const Cuda& backend, std::int64_t rows, std::int64_t columns);

/// Second stream of a GPU, on which the next panel is eliminated during the large multiplications.
class LookaheadStream;

/// Arguments of `eliminate_panels`.
template <class T>
struct PanelElimination {
  DenseView<T> A;
  std::int64_t block;       ///< columns of a panel
  bool both_sides = false;  ///< apply panels to the columns on their left too, for the inverse
  EliminationState* state;
  std::int64_t*
      ranks;  ///< ranks[i] becomes the rank before panel i, one more than there are panels; [0] given
  PivotList<T> pivots;
  PanelWorkspace<T>& workspace;
  PanelTuning tuning = {};
  LookaheadStream* lookahead = nullptr;  ///< null: panels and multiplications take turns on one stream
  FloatProducts products = FloatProducts::in_float;  ///< how large products of floats are formed
};

/// Queues the whole elimination on a GPU without waiting; all pointers are to its memory. Every step has the
/// size for full rank, and multiplies zeros where a column has no pivot. For real numbers; complex matrices
/// are eliminated panel after panel, as on the host.
template <class T>
requires(!is_complex<T>) void eliminate_panels(Cuda& backend, const PanelElimination<T>& elimination);

/// Whether a backend eliminates all panels without waiting, by eliminate_panels().
template <class B, class T>
inline constexpr bool queues_panels = requires(B& backend, const PanelElimination<T>& elimination) {
  eliminate_panels<T>(backend, elimination);
};

/// Exchanges the rows of X as the elimination did for the pivots in `range`; then moves the pivot rows to W
/// (range.count() by X.columns(), contiguous) and sets them to zero in X.
template <class T>
void take_pivot_rows(Host& backend, DenseView<T> X, PivotRange range, const std::int64_t* rows, T* W);
template <class T>
void take_pivot_rows(Cuda& backend, DenseView<T> X, PivotRange range, const std::int64_t* rows, T* W);
template <class T>
void take_pivot_rows(OpenCl& backend, DenseView<T> X, PivotRange range, const std::int64_t* rows, T* W);

/// Replaces the elements of x at the pivots in `range` by `products`; then undoes the row exchanges.
template <class T>
void put_back_pivot_rows(Host& backend, PivotRange range, const std::int64_t* rows, const T* products, T* x);
template <class T>
void put_back_pivot_rows(Cuda& backend, PivotRange range, const std::int64_t* rows, const T* products, T* x);
template <class T>
void put_back_pivot_rows(OpenCl& backend, PivotRange range, const std::int64_t* rows, const T* products,
                         T* x);

/// Computes places[i] = the row to which the exchanges move row i of n; i when the rank is less than
/// `least_rank`.
void find_places(Cuda& backend, std::int64_t n, const std::int64_t* rows, std::int64_t least_rank,
                 const EliminationState* state, int* places);

/// Exchanges columns k and rows[k] of A for k = n - 1, ..., 0: A P, which completes the inverse. Does nothing
/// unless state->rank is A.columns().
template <class T>
void put_back_columns(Host& backend, DenseView<T> A, const std::int64_t* rows, const EliminationState* state);
template <class T>
void put_back_columns(Cuda& backend, DenseView<T> A, const std::int64_t* rows, const EliminationState* state);
template <class T>
void put_back_columns(OpenCl& backend, DenseView<T> A, const std::int64_t* rows,
                      const EliminationState* state);

}  // namespace echelon
