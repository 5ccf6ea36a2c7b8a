// SPDX-License-Identifier: BSD-3-Clause
// How long does a step of a Newton method, of a circuit in time, and of an interior-point method take?
// The programs of examples 14 to 16, whose linear systems have one pattern each, with the library's sparse
// factorisations and, where it is installed, with KLU: the first factorisation with its analysis, and the
// mean of later ones in the same pattern and of the solves, in processor time.
//
//   OMP_NUM_THREADS=1 bench_steps [--runs 5]
#include "../examples/14_power_flow/model.hpp"
#include "../examples/15_transient_circuit/model.hpp"
#include "../examples/16_interior_point/model.hpp"
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/echelon.hpp>

#include <fmt/format.h>

#ifdef ECHELON_BENCH_WITH_KLU
#include "sparse_direct/klu.hpp"
#endif

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace ec = echelon;

/// A sparse factorisation that is made once and takes new values in its pattern.
class Factorization {
 public:
  Factorization() = default;
  Factorization(const Factorization&) = delete;
  Factorization& operator=(const Factorization&) = delete;
  virtual ~Factorization() = default;
  virtual void factor(const ec::Csr<double>& A) = 0;
  virtual void refactor(const ec::Csr<double>& A) = 0;
  virtual void solve(std::span<const double> b, std::span<double> x) = 0;
};

class Ours final : public Factorization {
 public:
  Ours(const std::string& method, const ec::Options& options)
      : solver_(ec::make_solver<double>(method, ec::Device::serial(), options)) {}
  void factor(const ec::Csr<double>& A) override { check(solver_.setup(A)); }
  void refactor(const ec::Csr<double>& A) override { check(solver_.update_values(A)); }
  void solve(std::span<const double> b, std::span<double> x) override {
    if (!solver_.solve(b, x, {.measure_error = false}).solved()) throw std::runtime_error("not solved");
  }

 private:
  static void check(const ec::Report& report) {
    if (!report.ready()) throw std::runtime_error("not factored");
  }
  ec::Solver<double> solver_;
};

#ifdef ECHELON_BENCH_WITH_KLU
class WithKlu final : public Factorization {
 public:
  void factor(const ec::Csr<double>& A) override { klu_.factor(A); }
  void refactor(const ec::Csr<double>& A) override { klu_.refactor(A); }
  void solve(std::span<const double> b, std::span<double> x) override {
    std::copy(b.begin(), b.end(), x.begin());
    klu_.solve(x);
  }

 private:
  ec::bench::Klu klu_;
};
#endif

double milliseconds(const std::function<void()>& work) {
  using ec::bench::Clock;
  const double begin = ec::bench::milliseconds(Clock::thread);
  work();
  return ec::bench::milliseconds(Clock::thread) - begin;
}

/// Milliseconds of the factorisations and solves of one run.
struct Costs {
  double first = 0, updates = 0, solves = 0;
  int factorizations = 0, solutions = 0;

  [[nodiscard]] double update() const { return updates / std::max(1, factorizations - 1); }
  [[nodiscard]] double solve() const { return solves / std::max(1, solutions); }
};

/// A factorisation whose calls are timed.
class Timed {
 public:
  explicit Timed(Factorization& factorization) : factorization_(factorization) {}
  void factor(const ec::Csr<double>& A) {
    const bool is_first = costs.factorizations++ == 0;
    (is_first ? costs.first : costs.updates) +=
        milliseconds([&] { is_first ? factorization_.factor(A) : factorization_.refactor(A); });
  }
  std::span<const double> solve(std::span<const double> b) {
    x_.resize(b.size());
    ++costs.solutions;
    costs.solves += milliseconds([&] { factorization_.solve(b, x_); });
    return x_;
  }

  Costs costs;

 private:
  Factorization& factorization_;
  std::vector<double> x_;
};

void flow_of_power(std::int32_t buses, Timed& systems) {
  PowerFlow model(make_grid(buses));
  for (model.evaluate(); model.largest_mismatch() > 1e-10; model.evaluate()) {
    systems.factor(model.jacobian());
    model.advance(systems.solve(model.mismatch()));
  }
}

void circuit_in_time(std::int32_t side, Timed& systems) {
  Circuit model(side);
  for (int step = 0; step < 50; ++step) {
    for (model.begin_step(); model.largest_residual() > 1e-12;) {
      systems.factor(model.matrix());
      model.advance(systems.solve(model.residual()));
    }
  }
}

void interior_point(std::int32_t nodes, Timed& systems) {
  InteriorPoint model(make_network_flow(nodes, 4 * nodes));
  for (int k = 0; k < 60; ++k) {
    model.prepare();
    if (model.gap() < 1e-9 && model.infeasibility() < 1e-9) return;
    systems.factor(model.matrix());
    model.correct(systems.solve(model.right_hand_side()));
    model.advance(systems.solve(model.right_hand_side()));
  }
}

/// The run with the least sum of updates and solves.
Costs best_of(int runs, const std::function<std::unique_ptr<Factorization>()>& make,
              const std::function<void(Timed&)>& model) {
  Costs best;
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < runs; ++run) {
    const std::unique_ptr<Factorization> factorization = make();
    Timed systems(*factorization);
    model(systems);
    const double total = systems.costs.updates + systems.costs.solves;
    if (total < least) best = systems.costs;
    least = std::min(least, total);
  }
  return best;
}

void print_row(const std::string& model, const std::string& solver, const Costs& costs) {
  std::puts(fmt::format("| {} | {} | {} | {:.3g} | {:.3g} | {:.3g} | {:.3g} |", model, solver,
                        costs.factorizations, costs.first, costs.update(), costs.solve(),
                        costs.update() + costs.solve())
                .c_str());
}

void compare(int runs, const std::string& model, const std::string& method,
             const std::function<void(Timed&)>& run) {
  const auto ours = [&](const ec::Options& options) {
    return best_of(
        runs, [&] { return std::make_unique<Ours>(method, options); }, run);
  };
  print_row(model, method, ours({}));
  print_row(model, method + ", condition=false", ours({{"condition", false}}));
#ifdef ECHELON_BENCH_WITH_KLU
  print_row(model, "KLU",
            best_of(
                runs, [] { return std::make_unique<WithKlu>(); }, run));
#endif
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--runs N]");
  const int runs = arguments.option("--runs", 5);
  arguments.finish();
  std::puts("| model | solver | factorisations | first ms | update ms | solve ms | update + solve ms |");
  std::puts("|---|---|---:|---:|---:|---:|---:|");
  for (const int buses : {2000, 20000}) {
    compare(runs, fmt::format("power flow, {} buses", buses), "sparse-lu",
            [&](Timed& systems) { flow_of_power(buses, systems); });
  }
  for (const int side : {60, 150}) {
    compare(runs, fmt::format("circuit, {} x {} nodes", side, side), "sparse-lu",
            [&](Timed& systems) { circuit_in_time(side, systems); });
  }
  constexpr int nodes = 1000;
  compare(runs, fmt::format("interior point, {} nodes", nodes), "sparse-ldlt",
          [](Timed& systems) { interior_point(nodes, systems); });
}
