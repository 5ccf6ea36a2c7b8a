// SPDX-License-Identifier: BSD-3-Clause
#include "exact/inspection/regular.hpp"

#include "backend/host/host.hpp"
#include "linalg/components.hpp"
#include "linalg/dominance.hpp"
#include "matrix/host_copy.hpp"
#include "matrix/rows.hpp"

#include <echelon/matrix/transform.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// Excess of the magnitude of each diagonal element over the other magnitudes of its row.
struct DominantRows {
  bool all = true;                      ///< no excess is negative; otherwise the vectors are incomplete
  std::vector<std::uint8_t> strict;     ///< 1: the excess is positive
  std::vector<std::uint8_t> is_slight;  ///< 1: rounding of the diagonal element can make as much
  std::int64_t slight = 0;              ///< number of rows

  /// Adds the next row, with these facts. False if it is not dominant, or may not be.
  bool add(const DominanceFacts& facts, bool is_strict, SlightExcess kind) {
    all = facts.deficient.value == FirstIndex::none && kind != SlightExcess::rounding;
    strict.push_back(is_strict ? 1 : 0);
    is_slight.push_back(kind == SlightExcess::positive ? 1 : 0);
    slight += is_slight.back();
    return all;
  }
};

template <class Rows>
DominantRows find_dominant_rows(const Rows& A, std::int64_t n) {
  using T = typename Rows::Value;
  DominantRows found;
  for (std::int64_t i = 0; i < n; ++i) {
    RowMagnitudes row;
    const std::int64_t end = A.end(i);
    for (std::int64_t k = A.begin(i); k < end; ++k)
      row.add(static_cast<double>(A.value(i, k)), A.column(k) == i);
    row.diagonal = std::fabs(row.diagonal);
    T excess{0};
    SlightExcess slight = SlightExcess::none;
    const DominanceFacts facts = classify_row(0, end - A.begin(i), row, RowExcess<T>{&excess, &slight});
    const bool positive = slight == SlightExcess::positive || excess > 0;
    if (!found.add(facts, positive, slight)) break;
  }
  return found;
}

/// Clears the rows whose excess may be a rounding error: see may_be_rounding().
template <class T>
void clear_doubtful_rows(const Csr<T>& A, DominantRows& rows) {
  if (rows.slight == 0) return;
  Host backend(A.device());
  const ConnectedComponents components = find_components(backend, A);
  const std::vector<std::int32_t> component = components.of_vertex.to_vector();
  std::vector<std::int64_t> size(static_cast<std::size_t>(components.count), 0);
  std::vector<std::int64_t> slight = size;
  for (std::size_t i = 0; i < component.size(); ++i) {
    ++size[static_cast<std::size_t>(component[i])];
    slight[static_cast<std::size_t>(component[i])] += rows.is_slight[i];
  }
  for (std::size_t i = 0; i < component.size(); ++i) {
    const auto c = static_cast<std::size_t>(component[i]);
    if (rows.is_slight[i] != 0 && may_be_rounding(slight[c], size[c])) rows.strict[i] = 0;
  }
}

/// Whether a chain of nonzero elements leads from each row to one that is marked.
template <class T>
bool all_reach(const Csr<T>& A, std::vector<std::uint8_t> marked) {
  const Csr<T> before = transpose(A);
  std::vector<std::int64_t> reached;
  for (std::size_t i = 0; i < marked.size(); ++i) {
    if (marked[i] != 0) reached.push_back(static_cast<std::int64_t>(i));
  }
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const std::int64_t j = reached[next];
    for (std::int64_t k = before.row_offsets()[j]; k < before.row_offsets()[j + 1]; ++k) {
      const std::int32_t i = before.column_indices()[k];
      if (before.values()[k] == T{0} || marked[static_cast<std::size_t>(i)] != 0) continue;
      marked[static_cast<std::size_t>(i)] = 1;
      reached.push_back(i);
    }
  }
  return std::ssize(reached) == A.rows();
}

/// A matrix in host memory as a sparse one.
template <class T>
class SparseForm {
 public:
  explicit SparseForm(const MatrixRef<T>& A) : given_(A.csr()), copy_(A.is_sparse() ? Csr<T>() : to_csr(A)) {}
  [[nodiscard]] const Csr<T>& csr() const { return given_ != nullptr ? *given_ : copy_; }

 private:
  const Csr<T>* given_;
  Csr<T> copy_;
};

template <class T>
bool has_positive_diagonal(const MatrixRef<T>& A) {
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    const T element = A.is_sparse() ? SparseRows<T>(*A.csr()).at(i, i) : A.dense()(i, i);
    if (!(element > T{0})) return false;
  }
  return true;
}

}  // namespace

template <class T>
std::optional<TriangularShape> regular_triangle(const MatrixRef<T>& A) {
  if (A.rows() != A.columns()) return std::nullopt;
  const HostCopy<T> host(A);
  const TriangularShape shape = triangular_shape(host.matrix());
  return shape.possible() && shape.on_diagonal == A.rows() ? std::optional(shape) : std::nullopt;
}

template <class T>
bool is_chained_dominant(const MatrixRef<T>& A) {
  if (A.rows() != A.columns()) return false;
  const HostCopy<T> copy(A);
  const MatrixRef<T>& host = copy.matrix();
  DominantRows rows = host.is_sparse() ? find_dominant_rows(SparseRows<T>(*host.csr()), A.rows())
                                       : find_dominant_rows(DenseRows<T>(host.dense()), A.rows());
  if (!rows.all) return false;
  const SparseForm<T> form(host);
  clear_doubtful_rows(form.csr(), rows);
  return all_reach(form.csr(), std::move(rows.strict));
}

template <class T>
bool is_regular_by_inspection(const MatrixRef<T>& A) {
  if (A.is_operator()) return false;
  const HostCopy<T> host(A);
  return regular_triangle(host.matrix()) || is_chained_dominant(host.matrix());
}

template <class T>
bool is_definite_by_inspection(const MatrixRef<T>& A) {
  if (A.is_operator() || A.rows() != A.columns()) return false;
  const HostCopy<T> host(A);
  if (!has_positive_diagonal(host.matrix()) || !is_chained_dominant(host.matrix())) return false;
  const SparseForm<T> form(host.matrix());
  Host backend(host.matrix().device());
  return find_asymmetry(backend, form.csr(), 0).value == FirstIndex::none;
}

#define ECHELON_INSTANTIATE(T)                                                   \
  template std::optional<TriangularShape> regular_triangle(const MatrixRef<T>&); \
  template bool is_chained_dominant(const MatrixRef<T>&);                        \
  template bool is_regular_by_inspection(const MatrixRef<T>&);                   \
  template bool is_definite_by_inspection(const MatrixRef<T>&);
ECHELON_INSTANTIATE(float)
ECHELON_INSTANTIATE(double)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
