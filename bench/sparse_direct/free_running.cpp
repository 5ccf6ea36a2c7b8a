// SPDX-License-Identifier: BSD-3-Clause
// Times the elimination to mapped echelon form in rounds, in slices, and with rows whose loops run on without
// rounds, as a table in Markdown; and the reordering of the rows and unknowns of bands for slices.
//   bench_free_running [--device serial|openmp] [--largest N] [--runs N]
#include "sparse_direct/free_running.hpp"

#include "support/arguments.hpp"

int main(int argc, char** argv) {
  namespace ec = echelon;
  ec::bench::Arguments arguments(argc, argv, "[--device serial|openmp] [--largest N] [--runs N]");
  const auto device = ec::Device::parse(arguments.option<std::string>("--device", "openmp"));
  const auto largest = arguments.option("--largest", std::int64_t{4000});
  const auto runs = arguments.option("--runs", 3);
  arguments.finish();
  ec::Host backend(device);
  ec::bench::print_free_running(backend, largest, runs);
  ec::bench::print_reordering(backend, runs);
}
