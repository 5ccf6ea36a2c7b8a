// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/stencil/stencil_matrix.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace echelon {

template <class T>
std::string to_string(const StencilMatrix<T>& A) {
  std::string text = std::to_string(A.points) + "-point, " + std::to_string(A.grid.points[0]);
  for (int a = 1; a < A.axes; ++a) text += " x " + std::to_string(A.grid.points[static_cast<std::size_t>(a)]);
  std::string periodic;
  for (std::size_t a = 0; a < 3; ++a) {
    if (A.grid.periodic[a])
      periodic += (periodic.empty() ? ", periodic in " : " and ") + std::string(1, "xyz"[a]);
  }
  return text + periodic + (A.constant ? ", constant coefficients" : ", variable coefficients");
}

template <class T>
Csr<T> to_csr(const StencilMatrix<T>& A) {
  const std::vector<T> values = A.values.to_vector();
  const StencilCoefficients<T> coefficients{values.data(), A.stride()};
  const GridNumbering grid(A.grid);
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> columns;
  std::vector<T> elements;
  std::vector<std::pair<std::int32_t, T>> row;
  with_layout(A, [&]<class Layout, bool constant>() {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      const GridPoint p = grid.point(i);
      for (int number = 0; number < 27; ++number) {
        const NeighbourOffset offset(number);
        const int place = Layout::place(offset.x, offset.y, offset.z);
        const T value = place < 0 ? T{0} : coefficients.template at<constant>(place, p);
        if (value == T{0}) continue;
        const std::int32_t at[3] = {grid.moved(0, p.at[0], offset.x), grid.moved(1, p.at[1], offset.y),
                                    grid.moved(2, p.at[2], offset.z)};
        row.emplace_back(grid.index(at), value);
      }
      std::sort(row.begin(), row.end());  // neighbours around a periodic axis come out of order
      for (const auto& [column, value] : row) {
        columns.push_back(column);
        elements.push_back(value);
      }
      row.clear();
      offsets.push_back(static_cast<std::int64_t>(columns.size()));
    }
  });
  const Device host;
  return Csr<T>::unchecked(A.rows(), A.rows(),
                           Array<std::int64_t>(host, std::span<const std::int64_t>(offsets)),
                           Array<std::int32_t>(host, std::span<const std::int32_t>(columns)),
                           Array<T>(host, std::span<const T>(elements)));
}

template std::string to_string(const StencilMatrix<float>&);
template std::string to_string(const StencilMatrix<double>&);
template Csr<float> to_csr(const StencilMatrix<float>&);
template Csr<double> to_csr(const StencilMatrix<double>&);

}  // namespace echelon
