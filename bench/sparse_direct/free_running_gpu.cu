// SPDX-License-Identifier: BSD-3-Clause
// Times the elimination to mapped echelon form on a GPU in rounds, in slices, and with rows whose loops run
// on without rounds, as a table in Markdown; and the reordering of the rows and unknowns of bands for slices,
// compared with copies of the matrix to the host and back. bench_free_running has the host's reordering.
//   bench_free_running_gpu [--largest N] [--runs N]
#include "sparse_direct/free_running.hpp"
#include "support/arguments.hpp"

int main(int argc, char** argv) {
  namespace ec = echelon;
  ec::bench::Arguments arguments(argc, argv, "[--largest N] [--runs N]");
  const auto largest = arguments.option("--largest", std::int64_t{20000});
  const auto runs = arguments.option("--runs", 3);
  arguments.finish();
  ec::Cuda backend(ec::Device::cuda());
  ec::bench::print_free_running(backend, largest, runs);
  ec::bench::print_reordering(backend, runs);
}
