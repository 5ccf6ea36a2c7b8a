// SPDX-License-Identifier: BSD-3-Clause
#include "backend/dispatch.hpp"
#include "linalg/linalg.hpp"
#include "matrix/assign.hpp"
#include "solver/audit.hpp"

#include <echelon/error.hpp>
#include <echelon/linalg.hpp>

#include <fmt/format.h>

namespace echelon {

namespace {

void check_memory(const Device& a, const char* name_a, const Device& b, const char* name_b) {
  if (same_memory(a, b)) return;
  throw DeviceMismatch(
      fmt::format("{} is on {}, {} is on {}: move one with to(device)", name_a, a.name(), name_b, b.name()));
}

void check_vectors(std::int64_t rows_x, std::int64_t columns_x, std::int64_t rows_y, std::int64_t columns_y) {
  if (rows_x == rows_y && columns_x == 1 && columns_y == 1) return;
  throw DimensionMismatch(fmt::format("x is {} by {}, y is {} by {}: two vectors of one length are needed",
                                      rows_x, columns_x, rows_y, columns_y));
}

/// A single column or row whose elements lie one after another; copied when they do not.
template <class T>
DenseView<const T> contiguous(DenseView<const T> x, Dense<T>& copy) {
  if (x.layout == Layout::column_major || x.leading == 1) {
    return {x.data, x.rows, x.columns, x.rows, x.device};
  }
  copy = Dense<T>(x.device, x.rows, x.columns);
  assign<T>(x, copy);
  return copy;
}

}  // namespace

template <class T>
void multiply(T alpha, MatrixRef<T> A, DenseView<const T> X, T beta, DenseView<T> Y) {
  if (A.columns() != X.rows || A.rows() != Y.rows || X.columns != Y.columns) {
    throw DimensionMismatch(fmt::format("A is {} by {}, X is {} by {}, Y is {} by {}: Y = A X does not fit",
                                        A.rows(), A.columns(), X.rows, X.columns, Y.rows, Y.columns));
  }
  check_memory(A.device(), "A", X.device, "X");
  check_memory(A.device(), "A", Y.device, "Y");
  const bool by_column = X.layout == Layout::column_major && Y.layout == Layout::column_major;
  if (by_column) {
    on_side(A.device(), [&]<class Side>() { multiply_on<Side, T>(alpha, A, X, beta, Y); });
    return;
  }
  Dense<T> x(X.device, X.rows, X.columns);
  Dense<T> y(Y.device, Y.rows, Y.columns);
  assign<T>(X, x);
  assign<T>(DenseView<const T>(Y), y);
  multiply<T>(alpha, A, x.view(), beta, y.view());
  assign<T>(y, Y);
}

template <class T>
double dot(DenseView<const T> x, DenseView<const T> y) {
  check_vectors(x.rows, x.columns, y.rows, y.columns);
  check_memory(x.device, "x", y.device, "y");
  Dense<T> copy_x;
  Dense<T> copy_y;
  const DenseView<const T> packed_x = contiguous(x, copy_x);
  const DenseView<const T> packed_y = contiguous(y, copy_y);
  return on_side(x.device, [&]<class Side>() { return dot_on<Side, T>(packed_x, packed_y); });
}

template <class T>
double norm2(DenseView<const T> x) {
  check_vectors(x.rows, x.columns, x.rows, 1);
  Dense<T> copy;
  const DenseView<const T> packed = contiguous(x, copy);
  return on_side(x.device, [&]<class Side>() {
    return make_audit<Side, T>(x.device)->vector(x.rows, packed.data).norm2;
  });
}

template <class T>
double norm_inf(MatrixRef<T> A) {
  return on_side(A.device(),
                 [&]<class Side>() { return make_audit<Side, T>(A.device())->matrix(A).norm_inf; });
}

template <class T>
void axpy(T alpha, DenseView<const T> x, DenseView<T> y) {
  check_vectors(x.rows, x.columns, y.rows, y.columns);
  check_memory(x.device, "x", y.device, "y");
  Dense<T> copy_x;
  const DenseView<const T> packed_x = contiguous(x, copy_x);
  if (y.layout == Layout::column_major || y.leading == 1) {
    on_side(x.device, [&]<class Side>() { axpy_on<Side, T>(alpha, packed_x, y); });
    return;
  }
  Dense<T> copy_y(y.device, y.rows, 1);
  assign<T>(DenseView<const T>(y), copy_y);
  on_side(x.device, [&]<class Side>() { axpy_on<Side, T>(alpha, packed_x, copy_y); });
  assign<T>(copy_y, y);
}

template void multiply(float, MatrixRef<float>, DenseView<const float>, float, DenseView<float>);
template void multiply(double, MatrixRef<double>, DenseView<const double>, double, DenseView<double>);
template double dot(DenseView<const float>, DenseView<const float>);
template double dot(DenseView<const double>, DenseView<const double>);
template double norm2(DenseView<const float>);
template double norm2(DenseView<const double>);
template double norm_inf(MatrixRef<float>);
template double norm_inf(MatrixRef<double>);
template void axpy(float, DenseView<const float>, DenseView<float>);
template void axpy(double, DenseView<const double>, DenseView<double>);

}  // namespace echelon
