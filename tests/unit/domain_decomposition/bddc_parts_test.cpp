// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/bddc/local/factor.hpp"
#include "domain_decomposition/bddc/local/problem.hpp"
#include "domain_decomposition/bddc/preconditioner/constraints.hpp"
#include "domain_decomposition/bddc/preconditioner/null_space.hpp"
#include "domain_decomposition/bddc/preconditioner/preconditioner.hpp"
#include "domain_decomposition/bddc/preconditioner/scaling.hpp"

#include <echelon/domain_decomposition/cube_elements.hpp>
#include <echelon/generate.hpp>

#include <gtest/gtest.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace echelon::bddc {
namespace {

Dense<double> zeros(std::int64_t rows, std::int64_t columns) {
  Dense<double> result(Device(), rows, columns);
  std::fill_n(result.data(), rows * columns, 0.0);
  return result;
}

/// X = A^-1 B by LAPACK.
Dense<double> dense_solve(Dense<double> A, Dense<double> B) {
  const auto n = static_cast<lapack_int>(A.rows());
  std::vector<lapack_int> pivots(static_cast<std::size_t>(n));
  EXPECT_EQ(LAPACKE_dgesv(LAPACK_COL_MAJOR, n, static_cast<lapack_int>(B.columns()), A.data(), n,
                          pivots.data(), B.data(), n),
            0);
  return B;
}

/// S = A_BB - A_BI A_II^-1 A_IB of a local matrix, by dense elimination.
Dense<double> dense_schur(const LocalMatrix& local) {
  const std::int64_t interior = local.interior_size();
  const std::int64_t boundary = local.boundary_size();
  const Dense<double> A = to_dense(MatrixRef<double>(local.matrix()));
  Dense<double> S = zeros(boundary, boundary);
  Dense<double> II = zeros(interior, interior);
  Dense<double> IB = zeros(interior, boundary);
  for (std::int64_t j = 0; j < interior; ++j) {
    for (std::int64_t i = 0; i < interior; ++i) II(i, j) = A(i, j);
  }
  for (std::int64_t j = 0; j < boundary; ++j) {
    for (std::int64_t i = 0; i < interior; ++i) IB(i, j) = A(i, interior + j);
  }
  const Dense<double> X = interior > 0 ? dense_solve(II, IB) : IB;
  for (std::int64_t j = 0; j < boundary; ++j) {
    for (std::int64_t i = 0; i < boundary; ++i) {
      S(i, j) = A(interior + i, interior + j);
      for (std::int64_t k = 0; k < interior; ++k) S(i, j) -= IB(k, i) * X(k, j);
    }
  }
  return S;
}

struct SmallProblem {
  std::int64_t unknowns;
  std::vector<SubdomainMatrix> subdomains;
  Interface interface;
  std::vector<std::int32_t> place;  // in the interface, or -1

  explicit SmallProblem(const CubeProblem& problem, std::int64_t block_size)
      : unknowns(problem.matrices.unknowns),
        subdomains(subdomain_matrices(problem.matrices, problem.subdomain_of_element)),
        interface(classify_interface(subdomains, unknowns, block_size, 1)),
        place(static_cast<std::size_t>(unknowns), -1) {
    for (std::size_t i = 0; i < interface.unknowns.size(); ++i) {
      place[static_cast<std::size_t>(interface.unknowns[i])] = static_cast<std::int32_t>(i);
    }
  }
};

/// Stiffness weights along the boundary of each subdomain.
std::vector<std::vector<double>> stiffness_weights(const SmallProblem& p,
                                                   const std::vector<LocalMatrix>& locals) {
  std::vector<double> sums(p.interface.unknowns.size(), 0.0);
  std::vector<std::vector<double>> weights;
  for (const LocalMatrix& local : locals) {
    const Dense<double> A = to_dense(MatrixRef<double>(local.matrix()));
    auto& own = weights.emplace_back();
    for (std::int64_t b = 0; b < local.boundary_size(); ++b) {
      own.push_back(A(local.interior_size() + b, local.interior_size() + b));
      sums[p.place[local.boundary()[b]]] += own.back();
    }
  }
  for (std::size_t s = 0; s < locals.size(); ++s) {
    for (std::size_t b = 0; b < weights[s].size(); ++b) {
      weights[s][b] /= sums[p.place[locals[s].boundary()[b]]];
    }
  }
  return weights;
}

/// M^-1 on the interface as one saddle point problem: independent functions w_i on all subdomains minimise
/// the sum of their energies, with equal corner values and averages in subdomains that share these.
Dense<double> saddle_point_operator(const SmallProblem& p) {
  std::vector<LocalMatrix> locals;
  std::vector<std::int64_t> begin(1, 0);
  for (const SubdomainMatrix& own : p.subdomains) {
    locals.emplace_back(own, p.place);
    begin.push_back(begin.back() + locals.back().boundary_size());
  }
  const auto weights = stiffness_weights(p, locals);
  const std::int64_t size = begin.back();
  std::vector<std::vector<double>> jumps;
  const auto position = [&](std::int32_t s, std::int32_t unknown) {
    const auto& boundary = locals[s].boundary();
    return begin[s] + (std::lower_bound(boundary.begin(), boundary.end(), unknown) - boundary.begin());
  };
  for (const InterfaceClass& c : p.interface.classes) {
    for (std::size_t k = 1; k < c.subdomains.size(); ++k) {
      std::vector<double> average(static_cast<std::size_t>(size), 0.0);
      for (const std::int32_t unknown : c.unknowns) {
        average[position(c.subdomains[0], unknown)] = 1;
        average[position(c.subdomains[k], unknown)] = -1;
      }
      jumps.push_back(average);
    }
  }
  const auto total = size + static_cast<std::int64_t>(jumps.size());
  Dense<double> K = zeros(total, total);
  for (std::size_t s = 0; s < locals.size(); ++s) {
    const Dense<double> S = dense_schur(locals[s]);
    for (std::int64_t j = 0; j < S.columns(); ++j) {
      for (std::int64_t i = 0; i < S.rows(); ++i) K(begin[s] + i, begin[s] + j) = S(i, j);
    }
  }
  for (std::size_t c = 0; c < jumps.size(); ++c) {
    const std::int64_t row = size + static_cast<std::int64_t>(c);
    for (std::int64_t j = 0; j < size; ++j) K(row, j) = K(j, row) = jumps[c][j];
  }
  const std::int64_t interface = std::ssize(p.interface.unknowns);
  Dense<double> right = zeros(total, interface);
  for (std::size_t s = 0; s < locals.size(); ++s) {
    for (std::int64_t b = 0; b < locals[s].boundary_size(); ++b) {
      right(begin[s] + b, p.place[locals[s].boundary()[b]]) = weights[s][b];
    }
  }
  const Dense<double> w = dense_solve(K, right);
  Dense<double> M = zeros(interface, interface);
  for (std::int64_t j = 0; j < interface; ++j) {
    for (std::int64_t i = 0; i < interface; ++i) {
      for (std::int64_t row = 0; row < size; ++row) M(i, j) += right(row, i) * w(row, j);
    }
  }
  return M;
}

}  // namespace

TEST(BddcPreconditioner, OnTheInterface_EqualsOneSaddlePointProblem) {
  const SmallProblem p(
      poisson_on_cube({.subdomains = 2, .elements = 3, .coefficients = {1, 7, 2, 1, 5, 1, 3, 1}}), 1);
  const Dense<double> expected = saddle_point_operator(p);
  for (const BddcSchur schur :
       {BddcSchur::sparse_cholesky, BddcSchur::cholesky, BddcSchur::lu, BddcSchur::crout_iterative}) {
    BddcPreconditioner preconditioner;
    PreconditionerSettings settings;
    settings.local.schur = schur;
    ASSERT_TRUE(
        preconditioner.setup(p.subdomains, p.unknowns, component_vectors(p.unknowns, 1), settings).ok());
    auto scratch = preconditioner.make_scratch();
    const std::int64_t size = preconditioner.interface_size();
    ASSERT_EQ(size, expected.rows());
    std::vector<double> r(static_cast<std::size_t>(size), 0.0);
    std::vector<double> z(r.size());
    const double scale = *std::max_element(expected.data(), expected.data() + size * size);
    for (std::int64_t j = 0; j < size; ++j) {
      r[j] = 1;
      preconditioner.precondition(scratch, r.data(), z.data());
      r[j] = 0;
      for (std::int64_t i = 0; i < size; ++i) ASSERT_NEAR(z[i], expected(i, j), 1e-11 * scale);
    }
  }
}

TEST(BddcPreconditioner, SchurProduct_EqualsDenseElimination) {
  const SmallProblem p(poisson_on_cube({.subdomains = 2, .elements = 2}), 1);
  BddcPreconditioner preconditioner;
  ASSERT_TRUE(preconditioner.setup(p.subdomains, p.unknowns, component_vectors(p.unknowns, 1), {}).ok());
  auto scratch = preconditioner.make_scratch();
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> x(p.interface.unknowns.size());
  for (double& element : x) element = uniform(random);
  std::vector<double> y(x.size());
  std::vector<double> expected(x.size(), 0.0);
  preconditioner.multiply(scratch, x.data(), y.data());
  for (const SubdomainMatrix& own : p.subdomains) {
    const LocalMatrix local(own, p.place);
    const Dense<double> S = dense_schur(local);
    for (std::int64_t j = 0; j < S.columns(); ++j) {
      for (std::int64_t i = 0; i < S.rows(); ++i) {
        expected[p.place[local.boundary()[i]]] += S(i, j) * x[p.place[local.boundary()[j]]];
      }
    }
  }
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-13);
}

/// The operator of the constrained problem as a GPU has it: (G_FF^-1 in F) + Z M^-1 Z^T.
Dense<double> constrained_operator(const LocalProblem& local) {
  const LocalProblem::Correction correction = local.correction();
  const Dense<double> inverse = local.free_inverse();
  const std::int64_t size = local.matrix().boundary_size();
  Dense<double> N = zeros(size, size);
  for (std::int64_t k = 0; k < correction.Z.columns(); ++k) {
    for (std::int64_t j = 0; j < size; ++j) {
      for (std::int64_t i = 0; i < size; ++i) N(i, j) += correction.product(i, k) * correction.Z(j, k);
    }
  }
  const std::vector<std::int32_t>& free = local.free_places();
  for (std::size_t j = 0; j < free.size(); ++j) {
    for (std::size_t i = 0; i < free.size(); ++i)
      N(free[i], free[j]) += inverse(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
  }
  return N;
}

/// A Schur complement in place of one in the memory of a GPU.
class SchurInPlaceOfDevice final : public SchurOnDevice {
 public:
  explicit SchurInPlaceOfDevice(Dense<double> S) : S_(std::move(S)) {}
  [[nodiscard]] std::vector<double> column(std::int32_t place) const override {
    return {S_.data() + place * S_.rows(), S_.data() + (place + 1) * S_.rows()};
  }
  [[nodiscard]] std::vector<double> product(std::span<const std::int32_t> places,
                                            const std::vector<double>& x) const override {
    std::vector<double> y(x.size(), 0.0);
    for (std::size_t j = 0; j < x.size(); ++j) {
      for (std::size_t i = 0; i < x.size(); ++i) y[i] += S_(places[i], places[j]) * x[j];
    }
    return y;
  }
  [[nodiscard]] FactorAttempt factor(std::span<const std::int32_t> places) override {
    const std::int64_t size = std::ssize(places);
    Dense<double> G(Device::serial(), size, size);
    for (std::int64_t j = 0; j < size; ++j) {
      for (std::int64_t i = 0; i < size; ++i) G(i, j) = S_(places[i], places[j]);
    }
    return factor_dense(std::move(G), BddcSchur::cholesky, {}, {});
  }

 private:
  Dense<double> S_;
};

/// Compares the operator that a GPU has with constrained solves.
void expect_operator_of_solves(const LocalProblem& local) {
  const Dense<double> N = constrained_operator(local);
  const std::int64_t size = N.rows();
  const double scale = *std::max_element(N.data(), N.data() + size * size);
  auto scratch = local.make_scratch();
  std::vector<double> r(static_cast<std::size_t>(size), 0.0);
  std::vector<double> w(r.size());
  for (std::int64_t j = 0; j < size; ++j) {
    r[j] = 1;
    local.solve_constrained(scratch, r.data(), w.data());
    r[j] = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      ASSERT_NEAR(N(i, j), w[i], 1e-11 * scale);
      ASSERT_NEAR(N(i, j), N(j, i), 1e-11 * scale);
    }
  }
}

TEST(BddcLocalProblem, OperatorForAGpu_EqualsConstrainedSolves) {
  for (const std::int64_t block_size : {1, 3}) {
    for (const bool on_device : {false, true}) {
      const CubeOptions cube{.subdomains = 3, .elements = 2};
      const SmallProblem p(block_size == 1 ? poisson_on_cube(cube) : elasticity_on_cube(cube), block_size);
      const Dense<double> vectors = component_vectors(p.unknowns, block_size);
      BddcPreconditioner preconditioner;
      PreconditionerSettings settings;
      settings.block_size = block_size;
      settings.local.schur = on_device ? BddcSchur::sparse_cholesky : BddcSchur::lu;
      settings.local.for_gpu = true;
      ASSERT_TRUE(preconditioner.setup_subdomains(p.subdomains, p.unknowns, vectors, settings).ok());
      preconditioner.set_weights(settings.scaling);
      const LocalSettings local_settings = BddcPreconditioner::local_settings(settings);
      for (std::size_t s = 0; s < preconditioner.locals().size(); ++s) {
        LocalProblem& local = preconditioner.locals()[s];
        SchurInPlaceOfDevice S(dense_schur(local.matrix()));
        if (on_device) {
          local.set_schur_on_device(S);
        } else {
          local.set_schur_matrix(dense_schur(local.matrix()));
        }
        const LocalConstraints constraints = preconditioner.constraints_of(static_cast<std::int64_t>(s));
        ASSERT_TRUE(local.setup_constrained(constraints, local_settings).ok());
        expect_operator_of_solves(local);
        EXPECT_EQ(local.schur_matrix().rows(), 0);
        local.release_factor();
      }
      EXPECT_TRUE(preconditioner.setup_coarse(p.unknowns, vectors, settings).ok());
    }
  }
}

TEST(BddcLocalProblem, SchurMatrix_EqualsDenseElimination) {
  const SmallProblem p(elasticity_on_cube({.subdomains = 2, .elements = 3}), 3);
  for (const BddcInterior interior :
       {BddcInterior::sparse_cholesky, BddcInterior::cholesky, BddcInterior::lu}) {
    LocalProblem problem;
    const LocalSettings settings{.interior = interior, .block_size = 3, .needs_schur_matrix = true};
    ASSERT_TRUE(problem.setup_interior(LocalMatrix(p.subdomains[7], p.place), settings).ok());
    const Dense<double> expected = dense_schur(problem.matrix());
    const Dense<double>& S = problem.schur_matrix();
    ASSERT_EQ(S.rows(), expected.rows());
    for (std::int64_t j = 0; j < S.columns(); ++j) {
      for (std::int64_t i = 0; i < S.rows(); ++i) {
        ASSERT_NEAR(S(i, j), expected(i, j), 1e-13);
        ASSERT_EQ(S(i, j), S(j, i));
      }
    }
  }
}

TEST(BddcLocalProblem, NearlySymmetricMatrix_HasItsSchurMatrix) {
  const SmallProblem p(poisson_on_cube({.subdomains = 2, .elements = 3}), 1);
  SubdomainMatrix own = p.subdomains[0];
  own.matrix.values()[1] *= 1 + 1e-11;  // partial factorisation refuses it
  LocalProblem problem;
  ASSERT_TRUE(problem.setup_interior(LocalMatrix(own, p.place), {.needs_schur_matrix = true}).ok());
  const Dense<double> expected = dense_schur(problem.matrix());
  for (std::int64_t j = 0; j < expected.columns(); ++j) {
    for (std::int64_t i = 0; i < expected.rows(); ++i)
      ASSERT_NEAR(problem.schur_matrix()(i, j), expected(i, j), 1e-10);
  }
}

TEST(BddcLocalProblem, Basis_HasUnitConstraintsAndItsEnergy) {
  const SmallProblem p(elasticity_on_cube({.subdomains = 2, .elements = 2}), 3);
  const Constraints constraints = make_constraints(p.interface, component_vectors(p.unknowns, 3), {});
  const std::int64_t s = 7;  // does not touch the clamped face: it floats
  LocalProblem problem;
  LocalSettings settings{.block_size = 3};
  ASSERT_TRUE(problem.setup_interior(LocalMatrix(p.subdomains[s], p.place), settings).ok());
  const Dense<double> S = dense_schur(problem.matrix());
  LocalConstraints local;
  const auto& boundary = problem.matrix().boundary();
  const auto place = [&](std::int32_t unknown) {
    return static_cast<std::int32_t>(std::lower_bound(boundary.begin(), boundary.end(), unknown) -
                                     boundary.begin());
  };
  std::vector<std::vector<double>> rows;  // of C
  for (std::size_t c = 0; c < p.interface.classes.size(); ++c) {
    const InterfaceClass& own = p.interface.classes[c];
    if (std::find(own.subdomains.begin(), own.subdomains.end(), s) == own.subdomains.end()) continue;
    if (own.kind != ClassKind::corner) continue;
    for (std::int32_t k = 0; k < constraints.classes[c].count; ++k) {
      local.corners.push_back({constraints.classes[c].first + k, place(own.unknowns[k])});
      rows.emplace_back(boundary.size(), 0.0)[place(own.unknowns[k])] = 1;
    }
  }
  for (std::size_t c = 0; c < p.interface.classes.size(); ++c) {
    const InterfaceClass& own = p.interface.classes[c];
    if (std::find(own.subdomains.begin(), own.subdomains.end(), s) == own.subdomains.end()) continue;
    if (own.kind == ClassKind::corner) continue;
    const std::int64_t size = std::ssize(own.unknowns);
    for (std::int32_t k = 0; k < constraints.classes[c].count; ++k) {
      auto& average = local.averages.emplace_back();
      auto& row = rows.emplace_back(boundary.size(), 0.0);
      for (std::int64_t j = 0; j < size; ++j) {
        average.places.push_back(place(own.unknowns[j]));
        average.weights.push_back(constraints.classes[c].weights[k * size + j]);
        row[average.places.back()] = average.weights.back();
      }
    }
  }
  const Outcome outcome = problem.setup_constrained(local, settings);
  ASSERT_TRUE(outcome.ok()) << outcome.message;
  const Dense<double>& basis = problem.coarse_basis();
  ASSERT_EQ(basis.columns(), std::ssize(rows));
  for (std::int64_t k = 0; k < basis.columns(); ++k) {
    for (std::int64_t l = 0; l < std::ssize(rows); ++l) {
      double value = 0;
      for (std::int64_t i = 0; i < basis.rows(); ++i) value += rows[l][i] * basis(i, k);
      EXPECT_NEAR(value, k == l ? 1 : 0, 1e-11);
      double energy = 0;
      for (std::int64_t j = 0; j < S.columns(); ++j) {
        for (std::int64_t i = 0; i < S.rows(); ++i) energy += basis(i, l) * S(i, j) * basis(j, k);
      }
      EXPECT_NEAR(problem.coarse_matrix()(l, k), energy, 1e-11);
    }
  }
}

TEST(BddcLocalProblem, Mechanism_IsCountedAndNamed) {
  const SmallProblem p(poisson_on_cube({.subdomains = 3, .elements = 2}), 1);
  LocalProblem problem;
  ASSERT_TRUE(problem.setup_interior(LocalMatrix(p.subdomains[13], p.place), {}).ok());  // floats
  const Outcome outcome = problem.setup_constrained({}, {});
  EXPECT_EQ(outcome.status, Status::breakdown);
  EXPECT_NE(outcome.message.find("leave it 1 mechanism:"), std::string::npos) << outcome.message;
}

TEST(BddcLocalProblem, IndefiniteMatrix_IsNotSpd) {
  // A negative edge between the two unknowns of the boundary outweighs the rest.
  const auto A = Csr<double>::from_triplets(3, 3,
                                            {{0, 0, 2},
                                             {0, 1, -1},
                                             {0, 2, -1},
                                             {1, 0, -1},
                                             {1, 1, -3},
                                             {1, 2, 2},
                                             {2, 0, -1},
                                             {2, 1, 2},
                                             {2, 2, -3}});
  const std::vector<std::int32_t> place = {-1, 0, 1};
  for (const BddcSchur schur :
       {BddcSchur::sparse_cholesky, BddcSchur::cholesky, BddcSchur::crout_iterative}) {
    LocalProblem problem;
    const LocalSettings settings{.schur = schur};
    ASSERT_TRUE(problem.setup_interior(LocalMatrix({{0, 1, 2}, A}, place), settings).ok());
    EXPECT_EQ(problem.setup_constrained({{{0, 0}}, {}}, settings).status, Status::not_spd);
  }
}

TEST(BddcConstraints, DependentVectors_AreOmitted) {
  const SmallProblem p(poisson_on_cube({.subdomains = 2, .elements = 3}), 1);
  Dense<double> vectors = zeros(p.unknowns, 3);
  for (std::int64_t i = 0; i < p.unknowns; ++i) {
    vectors(i, 0) = 1;
    vectors(i, 1) = 3;
    vectors(i, 2) = static_cast<double>(i);
  }
  const Constraints constraints = make_constraints(p.interface, vectors, {.corners = false});
  std::int64_t averages = 0;
  for (std::size_t c = 0; c < p.interface.classes.size(); ++c) {
    const ClassConstraints& own = constraints.classes[c];
    if (p.interface.classes[c].kind == ClassKind::corner) {
      EXPECT_EQ(own.count, 0);
      continue;
    }
    EXPECT_EQ(own.count, 2);
    EXPECT_EQ(own.first, averages);
    averages += 2;
  }
  EXPECT_EQ(constraints.coarse_unknowns, averages);
  EXPECT_EQ(constraints.redundant, averages / 2);
}

TEST(BddcScaling, DeluxeBlocks_SumUpToTheIdentity) {
  Dense<double> S = zeros(2, 2);
  S(0, 0) = 4, S(1, 1) = 3, S(0, 1) = S(1, 0) = 1;
  Dense<double> R = zeros(2, 2);
  R(0, 0) = 2, R(1, 1) = 5, R(0, 1) = R(1, 0) = -1;
  const auto D = deluxe_blocks({S, R});
  ASSERT_EQ(D.size(), 2U);
  // (S + R)^-1 S = diag(1/6, 1/8) S
  EXPECT_NEAR(D[0](0, 0), 4.0 / 6, 1e-15);
  EXPECT_NEAR(D[0](0, 1), 1.0 / 6, 1e-15);
  EXPECT_NEAR(D[0](1, 0), 1.0 / 8, 1e-15);
  EXPECT_NEAR(D[0](0, 0) + D[1](0, 0), 1, 1e-15);
  EXPECT_NEAR(D[0](0, 1) + D[1](0, 1), 0, 1e-15);
}

TEST(BddcScaling, SingularSum_HasNoBlocks) {
  Dense<double> S = zeros(2, 2);
  S(0, 0) = S(1, 1) = 1, S(0, 1) = S(1, 0) = -1;
  EXPECT_TRUE(deluxe_blocks({S, S}).empty());
}

TEST(BddcFactor, EveryKind_SolvesAndIsSymmetric) {
  const auto A = generate::poisson_2d<double>(6, 5);
  const Dense<double> dense = to_dense(MatrixRef<double>(A));
  const auto check = [&](const FactorAttempt& attempt) {
    ASSERT_TRUE(attempt.outcome.ok());
    const auto workspace = attempt.factor->make_workspace();
    Dense<double> inverse = zeros(30, 30);
    Dense<double> identity = zeros(30, 30);
    for (std::int64_t i = 0; i < 30; ++i) identity(i, i) = 1;
    attempt.factor->solve_columns(workspace.get(), std::as_const(identity).view(), inverse.view());
    const Dense<double> expected = dense_solve(dense, identity);
    for (std::int64_t k = 0; k < 900; ++k) EXPECT_NEAR(inverse[k], expected[k], 1e-13);
  };
  check(factor_sparse(A, {}));
  for (const BddcSchur kind : {BddcSchur::cholesky, BddcSchur::lu, BddcSchur::crout_iterative}) {
    check(factor_dense(dense, kind, {}, {}));
  }
  check(factor_dense(dense, BddcSchur::crout_iterative, {.pivoting = true}, {}));
}

/// A matrix of which elimination with pivoting exchanges rows: 1 / (1 + i + j) with a larger diagonal.
TEST(BddcFactor, CroutWithExchanges_Solves) {
  constexpr std::int64_t n = 20;
  Dense<double> G = zeros(n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) G(i, j) = 1.0 / static_cast<double>(1 + i + j) + (i == j ? 1e-3 : 0);
  }
  const FactorAttempt attempt = factor_dense(G, BddcSchur::crout_iterative, {.pivoting = true}, {});
  ASSERT_TRUE(attempt.outcome.ok());
  std::vector<double> b(n, 0.0);
  std::vector<double> x(n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) b[static_cast<std::size_t>(i)] += G(i, j);
  }
  attempt.factor->solve(nullptr, b.data(), x.data());
  for (const double element : x) EXPECT_NEAR(element, 1, 1e-10);
}

TEST(BddcFactor, CroutStoppedEarly_IsSymmetric) {
  const Dense<double> dense = to_dense(MatrixRef<double>(generate::poisson_2d<double>(6, 5)));
  const FactorAttempt attempt = factor_dense(dense, BddcSchur::crout_iterative, {.tolerance = 0.1}, {});
  ASSERT_TRUE(attempt.outcome.ok());
  Dense<double> inverse = zeros(30, 30);
  Dense<double> identity = zeros(30, 30);
  for (std::int64_t i = 0; i < 30; ++i) identity(i, i) = 1;
  attempt.factor->solve_columns(nullptr, std::as_const(identity).view(), inverse.view());
  double difference = 0;
  const Dense<double> exact = dense_solve(dense, identity);
  for (std::int64_t j = 0; j < 30; ++j) {
    for (std::int64_t i = 0; i < 30; ++i) {
      EXPECT_NEAR(inverse(i, j), inverse(j, i), 1e-15);
      difference = std::max(difference, std::abs(inverse(i, j) - exact(i, j)));
    }
  }
  EXPECT_GT(difference, 1e-3);  // it did stop early
}

TEST(BddcNullSpace, ComponentsOfLaplacian_HaveOneVectorEach) {
  // Two components of rows 0, 2 and 1, 3; the second has an excess.
  const auto A = Csr<double>::from_triplets(
      4, 4, {{0, 0, 1}, {0, 2, -1}, {2, 0, -1}, {2, 2, 1}, {1, 1, 2}, {1, 3, -1}, {3, 1, -1}, {3, 3, 1}});
  const auto parts = null_space(A, component_vectors(4, 1), 1e-14);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].rows, (std::vector<std::int32_t>{0, 2}));
  std::vector<double> b = {1, 1, 3, 1};
  EXPECT_NEAR(remove_null_space(parts, b).norm(), std::sqrt(8.0), 1e-14);
  EXPECT_NEAR(b[0], -1, 1e-14);
  EXPECT_EQ(b[1], 1);
}

/// A path with a ground of 2^-45 at one end, one without, and one whose elements are rounded.
TEST(BddcNullSpace, RowSums_DecideAboutConstants) {
  std::vector<Triplet<double>> elements{{0, 0, 0x1p-45}};
  for (std::int32_t part = 0; part < 3; ++part) {
    for (std::int32_t i = 100 * part; i < 100 * part + 99; ++i) {
      const double weight = part < 2 ? 1 : 0.1 + 0.001 * i;
      elements.insert(elements.end(),
                      {{i, i, weight}, {i + 1, i + 1, weight}, {i, i + 1, -weight}, {i + 1, i, -weight}});
    }
  }
  const auto A = Csr<double>::from_triplets(300, 300, elements);
  const auto parts = null_space_by_row_sums(A, component_vectors(300, 1), 1e-14, 0x1p-52);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].rows.front(), 100);
  EXPECT_TRUE(parts[0].is_proven);
  EXPECT_EQ(parts[1].rows.front(), 200);
  EXPECT_FALSE(parts[1].is_proven);
}

TEST(BddcNullSpace, EveryRowOfLargeMatrix_Counts) {
  constexpr std::int32_t n = 9001;
  for (const double excess : {0.0, 1.0}) {  // of the last row
    std::vector<Triplet<double>> elements{{n - 1, n - 1, excess}};
    for (std::int32_t i = 0; i + 1 < n; ++i)
      elements.insert(elements.end(), {{i, i, 1}, {i + 1, i + 1, 1}, {i, i + 1, -1}, {i + 1, i, -1}});
    const auto parts = null_space(Csr<double>::from_triplets(n, n, elements), component_vectors(n, 1), 1e-14);
    ASSERT_EQ(parts.size(), excess == 0 ? 1U : 0U);
    if (excess != 0) continue;
    ASSERT_EQ(parts[0].columns.size(), 1U);
    for (const double element : parts[0].columns[0]) EXPECT_NEAR(std::abs(element), 1 / std::sqrt(n), 1e-12);
  }
}

TEST(BddcCoarseProblem, SingularMatrix_IsPinnedAndInvertedOnItsRange) {
  const auto K = Csr<double>::from_triplets(
      3, 3, {{0, 0, 1}, {0, 1, -1}, {1, 0, -1}, {1, 1, 3}, {1, 2, -2}, {2, 1, -2}, {2, 2, 2}});
  CoarseProblem coarse;
  ASSERT_TRUE(coarse.setup(K, component_vectors(3, 1), {}).ok());
  EXPECT_EQ(coarse.pinned(), 1);
  const auto workspace = coarse.make_workspace();
  const std::vector<double> f = {1, 1, -2};
  std::vector<double> u(3);
  coarse.solve(workspace.get(), f.data(), u.data());
  EXPECT_NEAR(u[0] - u[1], 1, 1e-14);
  EXPECT_NEAR(2 * u[2] - 2 * u[1], -2, 1e-14);
  CoarseProblem nonsingular;
  EXPECT_FALSE(nonsingular.setup(K, Dense<double>(Device(), 3, 0), {}).ok() && nonsingular.pinned() > 0);
}

}  // namespace echelon::bddc
