// SPDX-License-Identifier: BSD-3-Clause
/// Matrices that break the set-up of algebraic multigrid, for tests on every device.
#pragma once

#include <echelon/generate.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace echelon::test {

struct MultigridCase {
  std::string name;
  Csr<double> A;
  std::vector<double> b;
};

class MultigridCases {
 public:
  /// Positive (semi)definite systems with a solution, which cg with amg has to find.
  static std::vector<MultigridCase> solvable() {
    const Csr<double> grid = generate::poisson_2d<double>(30, 30);
    std::vector<MultigridCase> list;
    add(list, "one row", diagonal({5}));
    add(list, "two rows", Csr<double>::from_triplets(2, 2, {{0, 0, 2}, {0, 1, -1}, {1, 0, -1}, {1, 1, 2}}));
    add(list, "diagonal", diagonal(std::vector<double>(1000, 3.0)));
    add(list, "isolated unknowns", interleaved(grid, [](std::int64_t i) { return i % 2 == 0 ? 1.0 : 1e6; }));
    add(list, "identity block", block_diagonal(grid, diagonal(std::vector<double>(500, 1.0))));
    add(list, "thousands of parts", repeated(generate::poisson_2d<double>(3, 2), 1500));
    add(list, "positive off-diagonals", generate::anisotropic_2d<double>(40, 30, 0.1, 30));
    add(list, "all off-diagonals positive", magnitudes(generate::poisson_2d<double>(30, 20, 9), 20.5));
    add(list, "mixed signs", generate::random_spd<double>(1500, 0.004, 1.05, 7));
    add(list, "one dense row", arrow(2000));
    add(list, "rows scaled by both signs", symmetric_scaling(grid));
    MultigridCase zeros = {"zero rows", interleaved(grid, [](std::int64_t) { return 0.0; }), {}};
    zeros.b = random_vector(zeros.A.rows(), 3);
    for (std::size_t i = 1; i < zeros.b.size(); i += 2) zeros.b[i] = 0;
    list.push_back(std::move(zeros));
    MultigridCase neumann_case = {"pure Neumann", neumann(30), {}};
    neumann_case.b = product(neumann_case.A, random_vector(neumann_case.A.rows(), 4));
    list.push_back(std::move(neumann_case));
    MultigridCase parts = {"Neumann parts", repeated(neumann(9), 5), {}};
    parts.b = product(parts.A, random_vector(parts.A.rows(), 5));
    list.push_back(std::move(parts));
    return list;
  }

  static std::vector<double> random_vector(std::int64_t n, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<double> x(static_cast<std::size_t>(n));
    for (double& value : x) value = std::uniform_real_distribution<double>(-1, 1)(random);
    return x;
  }

  static std::vector<double> product(const Csr<double>& A, const std::vector<double>& x) {
    std::vector<double> y(static_cast<std::size_t>(A.rows()));
    visit(A, [&](std::int64_t i, std::int64_t j, double value) {
      y[static_cast<std::size_t>(i)] += value * x[static_cast<std::size_t>(j)];
    });
    return y;
  }

  static Csr<double> diagonal(const std::vector<double>& elements) {
    std::vector<Triplet<double>> triplets;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      triplets.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(i), elements[i]});
    }
    return square(static_cast<std::int64_t>(elements.size()), triplets);
  }

  /// Copies of A along the diagonal.
  static Csr<double> repeated(const Csr<double>& A, std::int64_t times) {
    std::vector<Triplet<double>> triplets;
    for (std::int64_t copy = 0; copy < times; ++copy) {
      visit(A, [&](std::int64_t i, std::int64_t j, double value) {
        triplets.push_back(element(copy * A.rows() + i, copy * A.rows() + j, value));
      });
    }
    return square(times * A.rows(), triplets);
  }

  /// A and B along the diagonal.
  static Csr<double> block_diagonal(const Csr<double>& A, const Csr<double>& B) {
    std::vector<Triplet<double>> triplets;
    visit(A, [&](std::int64_t i, std::int64_t j, double value) { triplets.push_back(element(i, j, value)); });
    visit(B, [&](std::int64_t i, std::int64_t j, double value) {
      triplets.push_back(element(A.rows() + i, A.rows() + j, value));
    });
    return square(A.rows() + B.rows(), triplets);
  }

  /// Laplacian of a square grid without a boundary condition: its rows sum to zero.
  static Csr<double> neumann(std::int64_t side) {
    std::vector<Triplet<double>> triplets;
    const auto connect = [&](std::int64_t i, std::int64_t j) {
      triplets.insert(triplets.end(),
                      {element(i, i, 1), element(j, j, 1), element(i, j, -1), element(j, i, -1)});
    };
    for (std::int64_t y = 0; y < side; ++y) {
      for (std::int64_t x = 0; x < side; ++x) {
        if (x + 1 < side) connect(y * side + x, y * side + x + 1);
        if (y + 1 < side) connect(y * side + x, (y + 1) * side + x);
      }
    }
    return square(side * side, triplets);
  }

  /// A with unknown i as number i times 577 modulo n, where 577 does not divide the n rows.
  static Csr<double> renumbered(const Csr<double>& A) {
    std::vector<Triplet<double>> triplets;
    visit(A, [&](std::int64_t i, std::int64_t j, double value) {
      triplets.push_back(element(577 * i % A.rows(), 577 * j % A.rows(), value));
    });
    return square(A.rows(), triplets);
  }

  /// A with `shift` subtracted from its diagonal.
  static Csr<double> shifted(Csr<double> A, double shift) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        if (A.column_indices()[k] == i) A.values()[k] -= shift;
      }
    }
    return A;
  }

  /// Laplacian plus identity of a graph with hubs, whose Galerkin products fill up.
  static Csr<double> hubs(std::int64_t vertices, std::int64_t edges_per_vertex) {
    std::mt19937_64 random(11);
    std::vector<std::int32_t> ends = {0};
    std::vector<Triplet<double>> triplets = {{0, 0, 1}};
    for (std::int32_t i = 1; i < vertices; ++i) {
      triplets.push_back({i, i, 1});
      for (std::int64_t e = 0; e < edges_per_vertex; ++e) {
        const std::int32_t j = ends[random() % ends.size()];
        if (j == i) continue;
        triplets.insert(triplets.end(), {{i, i, 1}, {j, j, 1}, {i, j, -1}, {j, i, -1}});
        ends.push_back(j);
      }
      ends.push_back(i);
    }
    return square(vertices, triplets);
  }

 private:
  template <class Visit>
  static void visit(const Csr<double>& A, const Visit& visit_element) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        visit_element(i, A.column_indices()[k], A.values()[k]);
      }
    }
  }
  static Triplet<double> element(std::int64_t i, std::int64_t j, double value) {
    return {static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), value};
  }
  static Csr<double> square(std::int64_t n, const std::vector<Triplet<double>>& triplets) {
    return Csr<double>::from_triplets(n, n, triplets);
  }
  static void add(std::vector<MultigridCase>& list, const std::string& name, Csr<double> A) {
    std::vector<double> b = random_vector(A.rows(), static_cast<unsigned>(list.size() + 20));
    list.push_back({name, std::move(A), std::move(b)});
  }

  /// A in the even rows and columns, and diagonal elements in the odd ones; none where they are zero.
  template <class Diagonal>
  static Csr<double> interleaved(const Csr<double>& A, const Diagonal& diagonal_of) {
    std::vector<Triplet<double>> triplets;
    visit(A, [&](std::int64_t i, std::int64_t j, double value) {
      triplets.push_back(element(2 * i, 2 * j, value));
    });
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      const double value = diagonal_of(i);
      if (value != 0) triplets.push_back(element(2 * i + 1, 2 * i + 1, value));
    }
    return square(2 * A.rows(), triplets);
  }
  /// Magnitudes of the off-diagonal elements of A, with a constant diagonal.
  static Csr<double> magnitudes(Csr<double> A, double diagonal_element) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        double& value = A.values()[k];
        value = A.column_indices()[k] == i ? 2 * diagonal_element : (value < 0 ? -value : value);
      }
    }
    return A;
  }
  /// A chain whose first unknown is connected with all others.
  static Csr<double> arrow(std::int64_t n) {
    std::vector<Triplet<double>> triplets = {element(0, 0, 1)};
    for (std::int64_t i = 1; i < n; ++i) {
      triplets.insert(triplets.end(),
                      {element(i, i, 2.001), element(0, i, -0.5), element(i, 0, -0.5), element(0, 0, 0.5)});
      if (i + 1 < n) triplets.insert(triplets.end(), {element(i, i + 1, -0.7), element(i + 1, i, -0.7)});
    }
    return square(n, triplets);
  }
  /// D A D with elements of D of 0.1 and 10, of both signs.
  static Csr<double> symmetric_scaling(Csr<double> A) {
    const auto d = [](std::int64_t i) { return (i % 2 == 0 ? 1.0 : -1.0) * (i < 450 ? 0.1 : 10.0); };
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        A.values()[k] *= d(i) * d(A.column_indices()[k]);
      }
    }
    return A;
  }
};

}  // namespace echelon::test
