// SPDX-License-Identifier: BSD-3-Clause
// bddc on the cubes of poisson_on_cube and elasticity_on_cube: iterations, times and extreme Ritz values for
// several sizes of the subdomains.
//   OPENBLAS_NUM_THREADS=1 bench_bddc [--problem NAME] [--subdomains N] [--runs N] [--factors LIST]
//     [--devices LIST] [--stages 1] [H/h]...
// prints a table in Markdown. NAME: poisson (default; N^3 equal cubes, N = 4 as published for BDDCML),
// checkerboard (coefficients 1 and 10^4, all scalings) or elasticity (N = 2). LIST: factorisations of the
// Schur complements, separated by commas: sparse (default; none is formed), cholesky, lu, or the tolerance of
// crout-iterative, followed by p for pivoting. Devices are separated by commas; default openmp. A GPU has one
// run before the first that counts. --stages 1 prints the times of the stages of the last set-up on a GPU
// below the table's row. H/h: 5 and 10 by default. Tolerance 1e-6 relative to b, and the iterations to 1e-6
// relative to the right-hand side g of the interface's system; right-hand side of a constant source, all
// cores; medians of RUNS (default 3).
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/domain_decomposition/bddc.hpp>
#include <echelon/domain_decomposition/cube_elements.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/methods/bddc.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ec = echelon;

namespace {

struct System {
  ec::Csr<double> A;
  std::vector<ec::SubdomainMatrix> subdomains;
  std::vector<double> load;
};

System assembled(const ec::CubeProblem& problem) {
  return {ec::assemble(problem.matrices),
          ec::subdomain_matrices(problem.matrices, problem.subdomain_of_element), problem.load};
}

/// Poisson's equation with trilinear elements on the nodes of a box inside a grid of `side` elements in each
/// direction, by the tensor products k m m + m k m + m m k of one-dimensional matrices. Nodes on the surface
/// of the grid have no unknown.
class BoxMatrix {
 public:
  /// The box has elements [first[d], first[d] + elements) in direction d.
  BoxMatrix(std::int64_t side, const std::int64_t (&first)[3], std::int64_t elements)
      : side_(side), elements_(elements) {
    for (int d = 0; d < 3; ++d) {
      first_[d] = first[d];
      begin_[d] = std::max<std::int64_t>(first[d], 1);
      end_[d] = std::min(first[d] + elements, side - 1) + 1;
    }
  }

  [[nodiscard]] ec::SubdomainMatrix matrix() const {
    std::vector<std::int32_t> unknowns, columns;
    std::vector<std::int64_t> offsets{0};
    std::vector<double> values;
    for_box(begin_, end_, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
      const std::int64_t at[] = {x, y, z};
      unknowns.push_back(static_cast<std::int32_t>(((z - 1) * (side_ - 1) + y - 1) * (side_ - 1) + x - 1));
      add_row(at, columns, values);
      offsets.push_back(static_cast<std::int64_t>(columns.size()));
    });
    const auto n = static_cast<std::int64_t>(unknowns.size());
    return {std::move(unknowns),
            {n, n, ec::Array<std::int64_t>(ec::Device(), std::span<const std::int64_t>(offsets)),
             ec::Array<std::int32_t>(ec::Device(), std::span<const std::int32_t>(columns)),
             ec::Array<double>(ec::Device(), std::span<const double>(values))}};
  }

 private:
  template <class F>
  static void for_box(const std::int64_t (&begin)[3], const std::int64_t (&end)[3], F f) {
    for (std::int64_t z = begin[2]; z < end[2]; ++z) {
      for (std::int64_t y = begin[1]; y < end[1]; ++y) {
        for (std::int64_t x = begin[0]; x < end[0]; ++x) f(x, y, z);
      }
    }
  }

  void add_row(const std::int64_t (&at)[3], std::vector<std::int32_t>& columns,
               std::vector<double>& values) const {
    std::int64_t begin[3], end[3];
    for (int d = 0; d < 3; ++d) {
      begin[d] = std::max(at[d] - 1, begin_[d]);
      end[d] = std::min(at[d] + 2, end_[d]);
    }
    for_box(begin, end, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
      const std::int64_t to[] = {x, y, z};
      double k[3], m[3];
      for (int d = 0; d < 3; ++d) {
        const bool inside = at[d] > first_[d] && at[d] < first_[d] + elements_;
        const double count = at[d] != to[d] ? 1 : inside ? 2 : 1;  // elements that have both nodes
        k[d] = at[d] == to[d] ? count : -1;
        m[d] = count * (at[d] == to[d] ? 1.0 / 3 : 1.0 / 6);
      }
      const double sum = k[0] * m[1] * m[2] + m[0] * k[1] * m[2] + m[0] * m[1] * k[2];
      values.push_back(sum / static_cast<double>(side_));
      const std::int64_t width[] = {end_[0] - begin_[0], end_[1] - begin_[1]};
      columns.push_back(
          static_cast<std::int32_t>(((z - begin_[2]) * width[1] + y - begin_[1]) * width[0] + x - begin_[0]));
    });
  }

  std::int64_t side_;
  std::int64_t elements_;
  std::int64_t first_[3];           // element
  std::int64_t begin_[3], end_[3];  // nodes with unknowns
};

/// poisson_on_cube without its element matrices, which for H/h = 50 would take 4 GB.
System poisson_cubes(std::int64_t subdomains, std::int64_t elements) {
  const std::int64_t side = subdomains * elements;
  System system;
  system.A = BoxMatrix(side, {0, 0, 0}, side).matrix().matrix;
  system.subdomains.resize(static_cast<std::size_t>(subdomains * subdomains * subdomains));
#pragma omp parallel for schedule(dynamic, 1)
  for (std::size_t s = 0; s < system.subdomains.size(); ++s) {
    const auto number = static_cast<std::int64_t>(s);
    system.subdomains[s] =
        BoxMatrix(side,
                  {number % subdomains * elements, number / subdomains % subdomains * elements,
                   number / (subdomains * subdomains) * elements},
                  elements)
            .matrix();
  }
  const double h = 1 / static_cast<double>(side);
  system.load.assign(static_cast<std::size_t>(system.A.rows()), h * h * h);
  return system;
}

/// Coefficients 1 and 10^4 in the pattern of a checkerboard.
std::vector<double> checkerboard(std::int64_t side) {
  std::vector<double> coefficients;
  for (std::int64_t s = 0; s < side * side * side; ++s)
    coefficients.push_back((s % side + s / side % side + s / (side * side)) % 2 == 0 ? 1 : 1e4);
  return coefficients;
}

System system_of(const std::string& problem, std::int64_t subdomains, std::int64_t elements) {
  const ec::CubeOptions cube{.subdomains = subdomains, .elements = elements};
  if (problem == "elasticity") return assembled(ec::elasticity_on_cube(cube));
  if (problem == "poisson") return poisson_cubes(subdomains, elements);
  return assembled(ec::poisson_on_cube(
      {.subdomains = subdomains, .elements = elements, .coefficients = checkerboard(subdomains)}));
}

double number(const ec::Report& report, const char* name) {
  const ec::Statistic* found = report.find_statistic(name);
  const auto* value = found == nullptr ? nullptr : std::get_if<double>(&found->value);
  return value == nullptr ? 0 : *value;
}

/// Iterations after which the residual is below the tolerance relative to the right-hand side of the
/// interface's system, by which BDDCML stops, instead of b.
int interface_iterations(const ec::Report& report, double tolerance) {
  const double limit = tolerance * report.history.front() * number(report, "interface_right_hand_side");
  const auto below = std::find_if(report.history.begin() + 1, report.history.end(),
                                  [&](double norm) { return norm <= limit; });
  return static_cast<int>(below - report.history.begin());
}

/// Options of a row of the table, and its name there.
struct Variant {
  std::string name;
  ec::Options options;
};

/// Prints the times of the stages of a set-up, of which the names end with _seconds.
void print_stages(const ec::Report& report) {
  for (const ec::Statistic& statistic : report.statistics) {
    const auto* seconds = std::get_if<double>(&statistic.value);
    if (seconds != nullptr && statistic.name.ends_with("_seconds"))
      std::printf("  %s %.4f\n", statistic.name.c_str(), *seconds);
  }
}

/// Prints a row for `runs` runs after `discarded` ones; false if the system was not solved.
bool run(const System& system, std::int64_t elements, const Variant& variant, const ec::Device& device,
         int discarded, int runs, bool stages) {
  ec::Options options = variant.options;
  constexpr double tolerance = 1e-6;
  options.set("rtol", tolerance);
  std::vector<double> setup, solve;
  ec::Report report;
  const ec::Csr<double> A = system.A.to(device);
  const ec::Dense<double> b(device, std::span<const double>(system.load));
  ec::Dense<double> x(device, A.rows(), 1);
  for (int r = -discarded; r < runs; ++r) {
    ec::Solver<double> solver = ec::make_solver<double>("bddc", device, options);
    ec::set_subdomain_matrices(solver, system.subdomains);
    const ec::Report prepared = solver.setup(A);
    if (prepared.ready()) report = solver.solve(b, x);
    if (!prepared.ready() || !report.solved()) {
      std::fprintf(stderr, "H/h = %d, %s: %s\n", static_cast<int>(elements), variant.name.c_str(),
                   (prepared.ready() ? report : prepared).message.c_str());
      return false;
    }
    if (r < 0) continue;
    setup.push_back(prepared.setup_seconds);
    solve.push_back(report.solve_seconds);
  }
  std::printf("| %d | %lld | %s | %s | %d | %d | %.3f | %.4f | %.4f | %.4f | %.2f |\n",
              static_cast<int>(elements), static_cast<long long>(system.A.rows()), variant.name.c_str(),
              device.name().c_str(), static_cast<int>(report.iterations),
              interface_iterations(report, tolerance), ec::bench::median(setup), ec::bench::median(solve),
              number(report, "smallest_ritz_value"), number(report, "largest_ritz_value"),
              static_cast<double>(report.bytes) / 1e9);
  if (stages) print_stages(report);
  std::fflush(stdout);
  return true;
}

/// Variants for a list of factorisations.
std::vector<Variant> variants_of(const std::string& factors) {
  std::vector<Variant> variants;
  for (const std::string& factor : ec::bench::split(factors, ',')) {
    if (factor == "sparse") {
      variants.push_back({"sparse Cholesky", {}});
    } else if (factor == "cholesky" || factor == "lu") {
      variants.push_back({"S, " + factor, {{"schur", factor}}});
    } else {
      const bool pivoting = factor.ends_with('p');
      variants.push_back({"S, Crout to " + factor.substr(0, factor.size() - (pivoting ? 1 : 0)) +
                              (pivoting ? " with pivoting" : ""),
                          {{"schur", "crout-iterative"},
                           {"schur_tolerance", std::stod(factor)},
                           {"schur_pivoting", pivoting}}});
    }
  }
  return variants;
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv,
                                 "[--problem NAME] [--subdomains N] [--runs N] [--factors LIST] "
                                 "[--devices LIST] [--stages 1] [H/h]...");
  const auto problem = arguments.option<std::string>("--problem", "poisson");
  const int subdomains = arguments.option("--subdomains", problem == "elasticity" ? 2 : 4);
  const int runs = arguments.option("--runs", 3);
  std::vector<Variant> variants = variants_of(arguments.option<std::string>("--factors", "sparse"));
  const std::vector<std::string> devices =
      ec::bench::split(arguments.option<std::string>("--devices", "openmp"), ',');
  const bool stages = arguments.option("--stages", 0) != 0;
  std::vector<int> sizes = arguments.positionals<int>("H/h");
  arguments.finish();
  if (sizes.empty()) sizes = {5, 10};
  if (problem != "poisson" && problem != "checkerboard" && problem != "elasticity")
    arguments.refuse("there is no problem '" + problem + "'");
  if (problem == "checkerboard") {
    variants.clear();
    for (const std::string scaling : {"cardinality", "stiffness", "deluxe"})
      variants.push_back({scaling, {{"scaling", scaling}}});
  }
  if (problem == "elasticity") {
    for (Variant& variant : variants) variant.options.set("block_size", 3);
  }
  std::printf(
      "| H/h | unknowns | factors | device | iterations | to 1e-6 of g | set-up s | solve s | smallest | "
      "largest | GB |\n"
      "| ---: | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  int discarded = 1;
  for (const int elements : sizes) {
    const System system = system_of(problem, subdomains, elements);
    for (const Variant& variant : variants) {
      for (const std::string& device : devices) {
        const ec::Device on = ec::Device::parse(device);
        if (!run(system, elements, variant, on, on.on_host() ? 0 : discarded, runs, stages)) return 1;
      }
      discarded = 0;
    }
  }
}
