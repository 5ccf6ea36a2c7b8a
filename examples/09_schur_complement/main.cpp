// SPDX-License-Identifier: BSD-3-Clause
/// Condenses a model to a few unknowns of interest, and solves with the small matrix: 09_schur_complement
/// A.mtx
///
/// The interior is factored once. Each load case is then reduced to the interface, solved there, and
/// completed in the interior.
#include <echelon/domain_decomposition/schur_complement.hpp>
#include <echelon/echelon.hpp>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <vector>
namespace ec = echelon;

namespace {

int run(const char* path) {
  const auto A = ec::read_matrix_market<double>(path);
  std::vector<std::int32_t> interface;  // every twentieth row
  for (std::int64_t i = 0; i < A.rows(); i += 20) interface.push_back(static_cast<std::int32_t>(i));

  const auto schur = ec::schur_complement(A, interface);
  if (!schur.ready()) {
    std::cout << schur.report().message << '\n';
    return EXIT_FAILURE;
  }
  const ec::Dense<double>& S = schur.matrix();
  std::cout << A.rows() << " unknowns condensed to " << S.rows() << " in " << schur.report().setup_seconds
            << " s\n";

  const std::int64_t size = S.rows();
  ec::Cholesky<double> small;
  const ec::Report factored = small.factor(S);
  if (!factored.ready()) {
    std::cout << factored.message << '\n';
    return EXIT_FAILURE;
  }
  for (const double load : {1.0, 2.0}) {
    ec::Dense<double> b(ec::Device(), A.rows(), 1);
    for (std::int64_t i = 0; i < A.rows(); ++i) b(i, 0) = load;
    ec::Dense<double> g(ec::Device(), size, 1);
    ec::Dense<double> x_B(ec::Device(), size, 1);
    ec::Dense<double> x(ec::Device(), A.rows(), 1);
    schur.reduce(b, g);
    const ec::Report report = small.solve(g, x_B);
    schur.expand(x_B, b, x);
    std::cout << "load " << load << ": " << to_string(report.status) << ", x of row " << interface[1]
              << " is " << x(interface[1], 0) << '\n';
    if (!report.solved()) return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "data/bcsstk10.mtx.gz");
  } catch (const ec::Error& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
