// SPDX-License-Identifier: BSD-3-Clause
/// Solves with CSR arrays that the program owns, without copying them, several times with changed values:
/// 04_own_arrays A.mtx
///
/// The file only stands for an application that has the arrays already, here with 32-bit row offsets.
#include <echelon/echelon.hpp>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <vector>
namespace ec = echelon;

namespace {

struct Application {
  std::vector<std::int32_t> row_offsets;
  std::vector<std::int32_t> column_indices;
  std::vector<double> values;
};

Application read(const char* path) {
  const auto A = ec::read_matrix_market<double>(path);
  const std::vector<std::int64_t> offsets = A.row_offsets().to_vector();
  return {{offsets.begin(), offsets.end()}, A.column_indices().to_vector(), A.values().to_vector()};
}

int run(const char* path) {
  Application app = read(path);
  const auto n = static_cast<std::int64_t>(app.row_offsets.size()) - 1;
  // Refers to the arrays of `app`, which must outlive it; 32-bit offsets alone are copied.
  const ec::CsrView<double> A(n, n, app.row_offsets, app.column_indices, app.values);

  const std::vector<double> b(app.row_offsets.size() - 1, 1.0);
  std::vector<double> x(b.size());
  ec::Lu<double> lu;
  lu.setup(A);
  for (int step = 0; step < 3; ++step) {
    const ec::Report report = lu.solve(b, x);
    std::cout << "step " << step << ", x[0] = " << x[0] << '\n' << report;
    if (!report.solved()) return EXIT_FAILURE;
    for (double& value : app.values) value *= 2;
    lu.update_values(A);
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
