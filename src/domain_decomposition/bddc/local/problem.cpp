// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/bddc/local/problem.hpp"

#include "linalg/blas/blas.hpp"
#include "linalg/blas/decompositions.hpp"
#include "linalg/blas/lapack.hpp"
#include "support/text.hpp"

#include <echelon/domain_decomposition/schur_complement.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace echelon::bddc {

namespace {

Dense<double> zeros(std::int64_t rows, std::int64_t columns) {
  Dense<double> result(Device::serial(), rows, columns);
  std::fill_n(result.data(), rows * columns, 0.0);
  return result;
}

/// y = A^T x, or y += factor A x, for a dense A.
void transposed_product(const Dense<double>& A, const double* x, double* y) {
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    const double* const column = A.data() + j * A.leading();
    double sum = 0;
    for (std::int64_t i = 0; i < A.rows(); ++i) sum += column[i] * x[i];
    y[j] = sum;
  }
}
void subtract_product(const Dense<double>& A, const double* x, double* y) {
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    const double* const column = A.data() + j * A.leading();
    for (std::int64_t i = 0; i < A.rows(); ++i) y[i] -= column[i] * x[j];
  }
}

/// Whether A maps the constants of each component of a node to zero.
bool annihilates_constants(const Csr<double>& A, std::int64_t block_size) {
  constexpr double rounding = 1e-12;
  std::vector<double> sums(static_cast<std::size_t>(block_size));
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    std::fill(sums.begin(), sums.end(), 0.0);
    double largest = 0;
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      sums[A.column_indices()[k] % block_size] += A.values()[k];
      largest = std::max(largest, std::abs(A.values()[k]));
    }
    for (const double sum : sums) {
      if (std::abs(sum) > rounding * largest) return false;
    }
  }
  return true;
}

std::vector<std::int32_t> range(std::int64_t begin, std::int64_t end) {
  std::vector<std::int32_t> result;
  for (std::int64_t i = begin; i < end; ++i) result.push_back(static_cast<std::int32_t>(i));
  return result;
}

}  // namespace

Outcome LocalProblem::setup_interior(LocalMatrix matrix, const LocalSettings& settings) {
  LocalProblem next;
  next.interior_ = std::move(interior_);
  next.free_ = std::move(free_);
  *this = std::move(next);
  matrix_ = std::move(matrix);
  is_dense_ = settings.schur != BddcSchur::sparse_cholesky;
  const std::int64_t size = matrix_.interior_size();
  const bool floats =
      matrix_.boundary_size() == 0 && annihilates_constants(matrix_.matrix(), settings.block_size);
  omitted_ = floats ? std::min(settings.block_size, size) : 0;
  if (settings.for_gpu) {
    is_dense_ = true;
    interior_ = nullptr;
    return {};
  }
  if (Outcome outcome = factor_interior(settings); !outcome.ok()) return outcome;
  if (!is_dense_ && !settings.needs_schur_matrix) return {};
  if (settings.interior == BddcInterior::sparse_cholesky && eliminate_interior(settings)) return {};
  compute_schur();
  return {};
}

Outcome LocalProblem::factor_interior(const LocalSettings& settings) {
  const std::int64_t size = matrix_.interior_size();
  std::unique_ptr<LocalFactor> last = std::move(interior_);
  if (size == omitted_) return {};
  const blas::Threads one(Device::serial(), size);
  interior_matrix_ = matrix_.principal(range(omitted_, size));
  FactorAttempt attempt;
  if (settings.interior == BddcInterior::sparse_cholesky) {
    attempt = factor_sparse(interior_matrix_, settings.cancel, std::move(last));
  } else {
    const BddcSchur kind = settings.interior == BddcInterior::lu ? BddcSchur::lu : BddcSchur::cholesky;
    attempt = factor_dense(to_dense(MatrixRef<double>(interior_matrix_)), kind, {}, settings.cancel);
  }
  interior_ = std::move(attempt.factor);
  if (!attempt.outcome.ok()) {
    attempt.outcome.message = "its interior is not positive definite: " + attempt.outcome.message;
  }
  return std::move(attempt.outcome);
}

/// Computes S by a partial factorisation of the subdomain matrix; false if that is not possible, as for one
/// that is symmetric to less than rounding.
bool LocalProblem::eliminate_interior(const LocalSettings& settings) {
  const std::vector<std::int32_t> boundary = range(matrix_.interior_size(), matrix_.matrix().rows());
  const SchurComplement<double> complement = schur_complement(matrix_.matrix(), boundary,
                                                              {.factorization = SchurFactorization::cholesky,
                                                               .ordering = Ordering::dissection,
                                                               .condition = false,
                                                               .device = Device::serial(),
                                                               .cancel = settings.cancel});
  if (complement.ready()) schur_ = complement.matrix();
  return complement.ready();
}

/// Computes S column by column with the factors of the interior.
void LocalProblem::compute_schur() {
  constexpr std::int64_t batch = 32;
  const std::int64_t interior = matrix_.interior_size();
  const std::int64_t boundary = matrix_.boundary_size();
  const blas::Threads one(Device::serial(), interior);
  schur_ = zeros(boundary, boundary);
  std::vector<double> unit(static_cast<std::size_t>(boundary), 0.0);
  Dense<double> right(Device::serial(), interior, std::min(batch, boundary));
  Dense<double> solution(Device::serial(), interior, right.columns());
  const auto workspace = interior_ ? interior_->make_workspace() : nullptr;
  for (std::int64_t first = 0; first < boundary; first += batch) {
    const std::int64_t count = std::min(batch, boundary - first);
    for (std::int64_t j = 0; j < count; ++j) {
      unit[first + j] = 1;
      matrix_.interior_from_boundary(unit.data(), right.data() + j * interior);
      matrix_.boundary_product(unit.data(), schur_.data() + (first + j) * boundary);
      unit[first + j] = 0;
    }
    if (interior == 0) continue;
    const DenseView<const double> R(right.data(), interior, count, interior);
    interior_->solve_columns(workspace.get(), R, {solution.data(), interior, count, interior});
    for (std::int64_t j = 0; j < count; ++j) {
      matrix_.subtract_from_boundary(solution.data() + j * interior, schur_.data() + (first + j) * boundary);
    }
  }
  for (std::int64_t j = 0; j < boundary; ++j) {  // symmetric to the last bit
    for (std::int64_t i = 0; i < j; ++i) {
      schur_(i, j) = schur_(j, i) = (schur_(i, j) + schur_(j, i)) / 2;
    }
  }
}

/// Columns of the set-up: B of the small system and G_Fc.
struct LocalProblem::Columns {
  Dense<double> W;        ///< (G_Fp, C_F^T, G_Fc)
  Dense<double> inverse;  ///< G_FF^-1 W
  Dense<double> small;    ///< (D, (G_pc; 0))
  Dense<double> corners;  ///< G_cc, and G_pc below it
};

Outcome LocalProblem::setup_constrained(const LocalConstraints& constraints, const LocalSettings& settings) {
  const std::int64_t boundary = matrix_.boundary_size();
  if (boundary == 0) return {};  // an isolated subdomain is solved by its interior alone
  const blas::Threads one(Device::serial(), matrix_.matrix().rows());
  std::vector<bool> is_corner(static_cast<std::size_t>(boundary), false);
  numbers_.clear();
  for (const auto& corner : constraints.corners) {
    is_corner[corner.place] = true;
    numbers_.push_back(corner.number);
  }
  for (const auto& average : constraints.averages) numbers_.push_back(average.number);
  pins_.clear();
  choose_pins(is_corner, settings.block_size);
  number_free_unknowns(is_corner);
  if (Outcome outcome = factor_free(settings); !outcome.ok()) return outcome;
  const Columns columns = make_columns(constraints);
  if (Outcome outcome = factor_small(constraints, columns); !outcome.ok()) return outcome;
  make_basis(constraints, columns);
  schur_ = {};
  return {};
}

/// Chooses pins so that no rigid motion vanishes in them and in the corners: nodes of the boundary far from
/// the corners and from each other. Superfluous pins change nothing but the size of the small system.
void LocalProblem::choose_pins(const std::vector<bool>& is_corner, std::int64_t block_size) {
  const std::int64_t interior = matrix_.interior_size();
  const Csr<double>& A = matrix_.matrix();
  const bool has_corner = std::find(is_corner.begin(), is_corner.end(), true) != is_corner.end();
  std::int64_t nodes = block_size == 1 ? (has_corner ? 0 : 1) : block_size == 2 ? 2 : 4;
  std::vector<std::int32_t> distance(static_cast<std::size_t>(A.rows()));
  std::vector<bool> chosen = is_corner;
  for (; nodes > 0; --nodes) {
    constexpr std::int32_t unreached = std::numeric_limits<std::int32_t>::max();
    std::fill(distance.begin(), distance.end(), unreached);
    std::vector<std::int32_t> queue;
    for (std::int64_t place = 0; place < std::ssize(chosen); ++place) {
      if (!chosen[place]) continue;
      distance[interior + place] = 0;
      queue.push_back(static_cast<std::int32_t>(interior + place));
    }
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const std::int32_t i = queue[head];
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        const std::int32_t j = A.column_indices()[k];
        if (distance[j] != unreached || A.values()[k] == 0) continue;
        distance[j] = distance[i] + 1;
        queue.push_back(j);
      }
    }
    const auto farthest = std::max_element(distance.begin() + interior, distance.end());
    if (farthest == distance.end() || *farthest == 0) return;
    const std::int64_t node = matrix_.boundary()[farthest - distance.begin() - interior] / block_size;
    for (std::int64_t place = 0; place < std::ssize(chosen); ++place) {
      if (chosen[place] || matrix_.boundary()[place] / block_size != node) continue;
      chosen[place] = true;
      pins_.push_back(static_cast<std::int32_t>(place));
    }
  }
}

void LocalProblem::number_free_unknowns(const std::vector<bool>& is_corner) {
  std::vector<bool> is_free(is_corner.size());
  for (std::size_t i = 0; i < is_free.size(); ++i) is_free[i] = !is_corner[i];
  for (const std::int32_t pin : pins_) is_free[pin] = false;
  free_places_.clear();
  for (std::size_t i = 0; i < is_free.size(); ++i) {
    if (is_free[i]) free_places_.push_back(static_cast<std::int32_t>(i));
  }
  free_interior_ = is_dense_ ? 0 : matrix_.interior_size();
}

/// Rows of the subdomain matrix of the interior and the free places, ascending.
std::vector<std::int32_t> LocalProblem::free_rows() const {
  std::vector<std::int32_t> rows = range(0, matrix_.interior_size());
  for (const std::int32_t place : free_places_)
    rows.push_back(static_cast<std::int32_t>(matrix_.interior_size()) + place);
  return rows;
}

/// Whether exact factors of G_FF, which exist, do not reproduce a vector from its product with G_FF.
bool LocalProblem::is_singular_to_rounding() const {
  constexpr double acceptable = 1e-3;
  const std::int64_t size = free_interior_ + std::ssize(free_places_);
  std::vector<double> v(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) v[i] = 1 + 0.5 * static_cast<double>(i * 7 % 11) / 11;
  std::vector<double> product(v.size(), 0.0);
  if (on_device_ != nullptr) {
    product = on_device_->product(free_places_, v);
  } else if (is_dense_) {
    for (std::int64_t j = 0; j < size; ++j) {
      for (std::int64_t i = 0; i < size; ++i) product[i] += schur_(free_places_[i], free_places_[j]) * v[j];
    }
  } else {
    for (std::int64_t i = 0; i < size; ++i) {
      for (std::int64_t k = free_matrix_.row_offsets()[i]; k < free_matrix_.row_offsets()[i + 1]; ++k)
        product[i] += free_matrix_.values()[k] * v[free_matrix_.column_indices()[k]];
    }
  }
  std::vector<double> solution(v.size());
  const auto workspace = free_->make_workspace();
  free_->solve(workspace.get(), product.data(), solution.data());
  for (std::int64_t i = 0; i < size; ++i) {
    if (!(std::abs(solution[i] - v[i]) <= acceptable)) return true;
  }
  return false;
}

/// Whether G_FF, which has no Cholesky factor, has one when its diagonal grows by a rounding error.
bool LocalProblem::is_semidefinite(const CancellationToken& cancel) const {
  constexpr double rounding = 1e-10;
  Csr<double> shifted = matrix_.principal(free_rows());
  for (std::int64_t i = 0; i < shifted.rows(); ++i) {
    for (std::int64_t k = shifted.row_offsets()[i]; k < shifted.row_offsets()[i + 1]; ++k) {
      if (shifted.column_indices()[k] == i) shifted.values()[k] *= 1 + rounding;
    }
  }
  return factor_sparse(shifted, cancel).outcome.ok();
}

Outcome LocalProblem::factor_free(const LocalSettings& settings) {
  const std::int64_t size = free_interior_ + std::ssize(free_places_);
  std::unique_ptr<LocalFactor> last = std::move(free_);
  if (size == 0) return {};
  FactorAttempt attempt;
  if (on_device_ != nullptr) {
    attempt = on_device_->factor(free_places_);
  } else if (is_dense_) {
    Dense<double> G(Device::serial(), size, size);
    for (std::int64_t j = 0; j < size; ++j) {
      for (std::int64_t i = 0; i < size; ++i) G(i, j) = schur_(free_places_[i], free_places_[j]);
    }
    attempt = factor_dense(std::move(G), settings.schur,
                           {.tolerance = settings.schur_tolerance, .pivoting = settings.schur_pivoting},
                           settings.cancel);
  } else {
    free_matrix_ = matrix_.principal(free_rows());
    attempt = factor_sparse(free_matrix_, settings.cancel, std::move(last));
  }
  free_ = std::move(attempt.factor);
  const Status status = attempt.outcome.status;
  if (status == Status::cancelled || status == Status::out_of_memory) return std::move(attempt.outcome);
  const bool is_exact = settings.schur != BddcSchur::crout_iterative || settings.schur_tolerance == 0;
  const bool factored = attempt.outcome.ok();
  if (factored && !(is_exact && is_singular_to_rounding())) return {};
  if (factored || is_semidefinite(settings.cancel)) {
    return {
        Status::breakdown,
        "it moves without energy also where its corners are fixed, by more than rigid motions of nodes of " +
            std::to_string(settings.block_size) + (settings.block_size == 1 ? " unknown" : " unknowns") +
            ": block_size does not fit, or parts of it are joined by hinges"};
  }
  attempt.outcome.status = Status::not_spd;
  attempt.outcome.message = "its constrained problem is not positive definite: " + attempt.outcome.message;
  return std::move(attempt.outcome);
}

/// Column of G that belongs to a place of the boundary.
std::vector<double> LocalProblem::matrix_column(std::int32_t place) const {
  const std::int64_t boundary = matrix_.boundary_size();
  if (on_device_ != nullptr) return on_device_->column(place);
  if (is_dense_) return {schur_.data() + place * boundary, schur_.data() + (place + 1) * boundary};
  const Csr<double>& A = matrix_.matrix();
  std::vector<double> column(static_cast<std::size_t>(A.rows()), 0.0);
  const std::int64_t row = matrix_.interior_size() + place;
  for (std::int64_t k = A.row_offsets()[row]; k < A.row_offsets()[row + 1]; ++k) {
    column[A.column_indices()[k]] = A.values()[k];
  }
  return column;
}

LocalProblem::Columns LocalProblem::make_columns(const LocalConstraints& constraints) const {
  const std::int64_t pins = std::ssize(pins_);
  const std::int64_t averages = std::ssize(constraints.averages);
  const std::int64_t corners = std::ssize(constraints.corners);
  const std::int64_t size = free_interior_ + std::ssize(free_places_);
  Columns c;
  c.W = zeros(size, pins + averages + corners);
  c.small = zeros(pins + averages, pins + averages + corners);
  c.corners = zeros(corners, pins + corners);
  std::vector<std::int32_t> free_number(static_cast<std::size_t>(matrix_.boundary_size()), -1);
  for (std::size_t i = 0; i < free_places_.size(); ++i) {
    free_number[free_places_[i]] = static_cast<std::int32_t>(free_interior_ + static_cast<std::int64_t>(i));
  }
  const auto take = [&](const std::vector<double>& column, std::int64_t target) {
    std::copy_n(column.data(), free_interior_, c.W.data() + target * size);
    for (std::int64_t i = 0; i < std::ssize(free_places_); ++i) {
      c.W(free_interior_ + i, target) = column[free_interior_ + free_places_[i]];
    }
  };
  for (std::int64_t p = 0; p < pins; ++p) {
    const std::vector<double> column = matrix_column(pins_[p]);
    take(column, p);
    for (std::int64_t q = 0; q < pins; ++q) c.small(q, p) = column[free_interior_ + pins_[q]];
  }
  for (std::int64_t a = 0; a < averages; ++a) {
    const auto& average = constraints.averages[a];
    for (std::size_t j = 0; j < average.places.size(); ++j) {
      const std::int32_t place = average.places[j];
      if (free_number[place] >= 0) {
        c.W(free_number[place], pins + a) = average.weights[j];
        continue;
      }
      const auto pin = std::find(pins_.begin(), pins_.end(), place) - pins_.begin();
      c.small(pin, pins + a) = c.small(pins + a, pin) = average.weights[j];
    }
  }
  for (std::int64_t k = 0; k < corners; ++k) {
    const std::vector<double> column = matrix_column(constraints.corners[k].place);
    take(column, pins + averages + k);
    for (std::int64_t p = 0; p < pins; ++p) {
      c.small(p, pins + averages + k) = c.corners(k, p) = column[free_interior_ + pins_[p]];
    }
    for (std::int64_t l = 0; l < corners; ++l) {
      c.corners(l, pins + k) = column[free_interior_ + constraints.corners[l].place];
    }
  }
  c.inverse = zeros(size, c.W.columns());
  if (size > 0 && c.W.columns() > 0) {
    const auto workspace = free_->make_workspace();
    free_->solve_columns(workspace.get(), std::as_const(c.W).view(), c.inverse.view());
  }
  return c;
}

/// Factors D - B^T X after a check of the signs of its eigenvalues.
Outcome LocalProblem::factor_small(const LocalConstraints& constraints, const Columns& columns) {
  const std::int64_t pins = std::ssize(pins_);
  const std::int64_t averages = std::ssize(constraints.averages);
  const std::int64_t size = pins + averages;
  small_ = zeros(size, size);
  std::vector<double> scale(static_cast<std::size_t>(size));
  for (std::int64_t j = 0; j < size; ++j) {
    std::vector<double> product(static_cast<std::size_t>(columns.W.columns()));
    transposed_product(columns.W, columns.inverse.data() + j * columns.inverse.leading(), product.data());
    for (std::int64_t i = 0; i < size; ++i) small_(i, j) = columns.small(i, j) - product[i];
    const double magnitude = j < pins ? columns.small(j, j) : product[j];
    scale[j] = magnitude > 0 ? 1 / std::sqrt(magnitude) : 1;
  }
  Dense<double> scaled(Device::serial(), size, size);
  for (std::int64_t j = 0; j < size; ++j) {
    for (std::int64_t i = 0; i < size; ++i) {
      scaled(i, j) = scale[i] * scale[j] * (small_(i, j) + small_(j, i)) / 2;
    }
  }
  std::vector<double> eigenvalues(static_cast<std::size_t>(size));
  if (size > 0 &&
      !lapack::symmetric_eigenvectors(static_cast<int>(size), scaled.data(), eigenvalues.data())) {
    return {Status::breakdown, "the eigenvalues of its constrained problem were not found"};
  }
  constexpr double zero = 1e-10;
  std::int64_t negative = 0;
  std::int64_t mechanisms = 0;
  for (const double value : eigenvalues) {
    negative += value < -zero ? 1 : 0;
    mechanisms += std::abs(value) <= zero ? 1 : 0;
  }
  if (mechanisms > 0) {
    return {Status::breakdown, "its constraints (" + std::to_string(constraints.corners.size()) +
                                   " corner values and " + std::to_string(averages) + " averages) leave it " +
                                   std::to_string(mechanisms) +
                                   (mechanisms == 1 ? " mechanism: " : " mechanisms: ") +
                                   "motions without energy that no constraint prevents; use more "
                                   "of corners, edges and faces, edge_ends, or near-null-space vectors "
                                   "for averages of rotations"};
  }
  if (negative != averages) {
    return {Status::not_spd, "its constrained problem has " + std::to_string(std::abs(negative - averages)) +
                                 " eigenvalues that are not positive"};
  }
  small_pivots_.resize(static_cast<std::size_t>(size));
  for (std::int64_t j = 0; j < size; ++j) {
    for (std::int64_t i = 0; i < j; ++i) small_(i, j) = small_(j, i) = (small_(i, j) + small_(j, i)) / 2;
  }
  const int n = static_cast<int>(size);
  if (n > 0 && lapack::getrf(n, n, small_.data(), n, small_pivots_.data()) > 0) {
    return {Status::breakdown, "its constrained problem is singular"};
  }
  return {};
}

void LocalProblem::solve_small(double* y) const {
  const int n = static_cast<int>(small_.rows());
  if (n > 0) lapack::getrs(false, n, 1, small_.data(), small_pivots_.data(), y, n);
}

void LocalProblem::make_basis(const LocalConstraints& constraints, const Columns& columns) {
  const std::int64_t pins = std::ssize(pins_);
  const std::int64_t averages = std::ssize(constraints.averages);
  const std::int64_t corners = std::ssize(constraints.corners);
  const std::int64_t size = pins + averages;
  const std::int64_t free = std::ssize(free_places_);
  X_ = zeros(free, size);
  for (std::int64_t j = 0; j < size; ++j) {
    for (std::int64_t i = 0; i < free; ++i) X_(i, j) = columns.inverse(free_interior_ + i, j);
  }
  basis_ = zeros(matrix_.boundary_size(), corners + averages);
  coarse_matrix_ = zeros(corners + averages, corners + averages);
  std::vector<double> y(static_cast<std::size_t>(size));
  std::vector<double> x(static_cast<std::size_t>(columns.W.rows()));
  std::vector<double> reaction(static_cast<std::size_t>(columns.W.columns()));
  for (std::int64_t k = 0; k < corners + averages; ++k) {
    std::fill(x.begin(), x.end(), 0.0);
    std::fill(y.begin(), y.end(), 0.0);
    if (k < corners) {
      const std::int64_t column = size + k;
      transposed_product(columns.W, columns.inverse.data() + column * columns.inverse.leading(),
                         reaction.data());
      for (std::int64_t i = 0; i < size; ++i) y[i] = reaction[i] - columns.small(i, column);
      for (std::int64_t i = 0; i < std::ssize(x); ++i) x[i] = -columns.inverse(i, column);
      basis_(constraints.corners[k].place, k) = 1;
    } else {
      y[pins + k - corners] = 1;
    }
    solve_small(y.data());
    for (std::int64_t j = 0; j < size; ++j) {
      for (std::int64_t i = 0; i < std::ssize(x); ++i) x[i] -= columns.inverse(i, j) * y[j];
    }
    for (std::int64_t i = 0; i < free; ++i) basis_(free_places_[i], k) = x[free_interior_ + i];
    for (std::int64_t p = 0; p < pins; ++p) basis_(pins_[p], k) = y[p];
    transposed_product(columns.W, x.data(), reaction.data());
    for (std::int64_t l = 0; l < corners; ++l) {
      double sum = reaction[size + l] + (k < corners ? columns.corners(l, pins + k) : 0);
      for (std::int64_t p = 0; p < pins; ++p) sum += columns.corners(l, p) * y[p];
      coarse_matrix_(l, k) = sum;
    }
    for (std::int64_t a = 0; a < averages; ++a) coarse_matrix_(corners + a, k) = -y[pins + a];
  }
  for (std::int64_t j = 0; j < coarse_matrix_.columns(); ++j) {
    for (std::int64_t i = 0; i < j; ++i) {
      coarse_matrix_(i, j) = coarse_matrix_(j, i) = (coarse_matrix_(i, j) + coarse_matrix_(j, i)) / 2;
    }
  }
}

Dense<double> LocalProblem::free_inverse() const {
  const std::int64_t size = std::ssize(free_places_);
  Dense<double> inverse = zeros(size, size);
  if (size == 0) return inverse;
  Dense<double> identity = zeros(size, size);
  for (std::int64_t i = 0; i < size; ++i) identity(i, i) = 1;
  const blas::Threads one(Device::serial(), size);
  const auto workspace = free_->make_workspace();
  free_->solve_columns(workspace.get(), std::as_const(identity).view(), inverse.view());
  return inverse;
}

/// Z is -X in the rows F, and the identity in the rows and columns of pins.
LocalProblem::Correction LocalProblem::correction() const {
  const std::int64_t boundary = matrix_.boundary_size();
  const std::int64_t size = small_.rows();
  Correction result{zeros(boundary, size), zeros(boundary, size)};
  for (std::int64_t j = 0; j < size; ++j) {
    for (std::int64_t i = 0; i < std::ssize(free_places_); ++i) result.Z(free_places_[i], j) = -X_(i, j);
  }
  for (std::int64_t p = 0; p < std::ssize(pins_); ++p) result.Z(pins_[p], p) = 1;
  std::vector<double> y(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < boundary; ++i) {  // M is symmetric
    for (std::int64_t j = 0; j < size; ++j) y[j] = result.Z(i, j);
    solve_small(y.data());
    for (std::int64_t j = 0; j < size; ++j) result.product(i, j) = y[j];
  }
  return result;
}

std::size_t LocalProblem::Scratch::bytes() const {
  return (interior_workspace ? interior_workspace->bytes() : 0) +
         (local_workspace ? local_workspace->bytes() : 0) +
         (interior.capacity() + residual.capacity() + solution.capacity() + small.capacity()) *
             sizeof(double);
}

LocalProblem::Scratch LocalProblem::make_scratch() const {
  Scratch scratch;
  if (interior_) scratch.interior_workspace = interior_->make_workspace();
  if (free_) scratch.local_workspace = free_->make_workspace();
  scratch.interior.resize(2 * static_cast<std::size_t>(matrix_.interior_size()));
  scratch.residual.assign(static_cast<std::size_t>(free_interior_) + free_places_.size(), 0.0);
  scratch.solution.resize(scratch.residual.size());
  scratch.small.resize(static_cast<std::size_t>(small_.rows()));
  return scratch;
}

void LocalProblem::solve_interior(Scratch& scratch, const double* r, double* x) const {
  std::fill_n(x, omitted_, 0.0);
  if (!interior_) return;
  const blas::Threads one(Device::serial(), matrix_.interior_size());
  interior_->solve(scratch.interior_workspace.get(), r + omitted_, x + omitted_);
}

void LocalProblem::solve_constrained(Scratch& scratch, const double* r, double* w) const {
  const std::int64_t pins = std::ssize(pins_);
  const std::int64_t free = std::ssize(free_places_);
  double* const residual = scratch.residual.data();
  for (std::int64_t i = 0; i < free; ++i) residual[free_interior_ + i] = r[free_places_[i]];
  if (free_) {
    const blas::Threads one(Device::serial(), matrix_.matrix().rows());
    free_->solve(scratch.local_workspace.get(), residual, scratch.solution.data());
  }
  double* const y = scratch.small.data();
  transposed_product(X_, residual + free_interior_, y);
  for (std::int64_t j = 0; j < small_.rows(); ++j) y[j] = (j < pins ? r[pins_[j]] : 0) - y[j];
  solve_small(y);
  double* const x = scratch.solution.data() + free_interior_;
  subtract_product(X_, y, x);
  std::fill_n(w, matrix_.boundary_size(), 0.0);
  for (std::int64_t i = 0; i < free; ++i) w[free_places_[i]] = x[i];
  for (std::int64_t p = 0; p < pins; ++p) w[pins_[p]] = y[p];
}

void LocalProblem::multiply_schur(Scratch& scratch, const double* x, double* y) const {
  double* const right = scratch.interior.data();
  double* const solution = right + matrix_.interior_size();
  matrix_.boundary_product(x, y);
  if (!interior_) return;
  matrix_.interior_from_boundary(x, right);
  solve_interior(scratch, right, solution);
  matrix_.subtract_from_boundary(solution, y);
}

std::size_t LocalProblem::bytes() const {
  return matrix_.bytes() + interior_matrix_.bytes() + free_matrix_.bytes() + schur_.bytes() + X_.bytes() +
         small_.bytes() + basis_.bytes() + coarse_matrix_.bytes() + (interior_ ? interior_->bytes() : 0) +
         (free_ ? free_->bytes() : 0);
}

}  // namespace echelon::bddc
