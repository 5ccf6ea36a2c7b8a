// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/lamg/recombination.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace echelon::lamg {

namespace {

template <std::size_t size>
using Coefficients = std::array<double, size>;

/// Computes the minimiser of ||r - D alpha|| from D^T D and D^T r by a Cholesky factorisation that skips
/// columns that depend linearly on earlier ones.
template <std::size_t size>
Coefficients<size> least_squares(std::array<Coefficients<size>, size> gram, Coefficients<size> right) {
  constexpr double dependent = 1e-12;
  Coefficients<size> pivot{};
  for (std::size_t k = 0; k < size; ++k) {
    const double whole = gram[k][k];
    double rest = whole;
    for (std::size_t l = 0; l < k; ++l) {
      if (pivot[l] > 0) rest -= gram[k][l] * gram[k][l] / pivot[l];
    }
    pivot[k] = rest > dependent * whole ? rest : 0;
    if (pivot[k] == 0) continue;
    for (std::size_t i = k + 1; i < size; ++i) {
      for (std::size_t l = 0; l < k; ++l) {
        if (pivot[l] > 0) gram[i][k] -= gram[i][l] * gram[k][l] / pivot[l];
      }
    }
    for (std::size_t l = 0; l < k; ++l) {
      if (pivot[l] > 0) right[k] -= gram[k][l] / pivot[l] * right[l];
    }
  }
  Coefficients<size> alpha{};
  for (std::size_t k = size; k-- > 0;) {
    if (pivot[k] == 0) continue;
    double value = right[k];
    for (std::size_t i = k + 1; i < size; ++i) value -= gram[i][k] * alpha[i];
    alpha[k] = value / pivot[k];
  }
  return alpha;
}

template <std::size_t size, class T>
void minimise_over(std::size_t n, std::size_t capacity, const T* kept_x, const T* kept_r, T* x,
                   Cell<T>* cells) {
  std::array<Coefficients<size>, size> gram{};
  Coefficients<size> right{};
  for (std::size_t i = 0; i < n; ++i) {
    const double own = cells[i].residual;
    Coefficients<size> difference;
    for (std::size_t k = 0; k < size; ++k) difference[k] = own - double{kept_r[i * capacity + k]};
    for (std::size_t k = 0; k < size; ++k) {
      right[k] += difference[k] * own;
      for (std::size_t l = 0; l <= k; ++l) gram[k][l] += difference[k] * difference[l];
    }
  }
  const Coefficients<size> alpha = least_squares<size>(gram, right);
  double rest = 1;
  for (const double a : alpha) rest -= a;
  if (!std::isfinite(rest)) return;
  for (std::size_t i = 0; i < n; ++i) {
    double new_x = rest * x[i];
    double new_r = rest * cells[i].residual;
    for (std::size_t k = 0; k < size; ++k) {
      new_x += alpha[k] * kept_x[i * capacity + k];
      new_r += alpha[k] * kept_r[i * capacity + k];
    }
    x[i] = static_cast<T>(new_x);
    cells[i].residual = static_cast<T>(new_r);
  }
}

}  // namespace

template <class T>
void Recombination<T>::save(const T* x, const Cell<T>* cells) {
  if (size_ == 0) next_ = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    x_[i * capacity_ + next_] = x[i];
    r_[i * capacity_ + next_] = cells[i].residual;
  }
  next_ = next_ + 1 == capacity_ ? 0 : next_ + 1;
  size_ = std::min(size_ + 1, capacity_);
}

template <class T>
void Recombination<T>::minimise(T* x, Cell<T>* cells) const {
  const auto over = [&]<std::size_t size>() {
    minimise_over<size>(n_, capacity_, x_.data(), r_.data(), x, cells);
  };
  switch (size_) {
    case 0:
      return;
    case 1:
      return over.template operator()<1>();
    case 2:
      return over.template operator()<2>();
    case 3:
      return over.template operator()<3>();
    default:
      return over.template operator()<4>();
  }
}

template class Recombination<float>;
template class Recombination<double>;

}  // namespace echelon::lamg
