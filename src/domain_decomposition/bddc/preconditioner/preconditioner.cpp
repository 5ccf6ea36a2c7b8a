// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/bddc/preconditioner/preconditioner.hpp"

#include "domain_decomposition/bddc/subdomains/parallel.hpp"

#include <echelon/error.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <utility>

namespace echelon::bddc {

namespace {

/// Place of an unknown of A along a boundary, which ascends.
std::int32_t place_on(const std::vector<std::int32_t>& boundary, std::int32_t unknown,
                      std::int64_t subdomain) {
  const auto found = std::lower_bound(boundary.begin(), boundary.end(), unknown);
  if (found == boundary.end() || *found != unknown) {
    throw InvalidMatrix("subdomain " + std::to_string(subdomain) + " has a node of row " +
                        std::to_string(unknown) +
                        " of A without that row: a subdomain has all unknowns of its nodes");
  }
  return static_cast<std::int32_t>(found - boundary.begin());
}

void append_offset(std::vector<std::int64_t>& offsets, std::int64_t count) {
  if (offsets.empty()) offsets.push_back(0);
  offsets.push_back(offsets.back() + count);
}

}  // namespace

Outcome BddcPreconditioner::setup(const std::vector<SubdomainMatrix>& subdomains, std::int64_t unknowns,
                                  const Dense<double>& vectors, const PreconditionerSettings& settings) {
  Outcome outcome = setup_subdomains(subdomains, unknowns, vectors, settings);
  if (!outcome.ok()) return outcome;
  set_weights(settings.scaling);
  const LocalSettings local = local_settings(settings);
  outcome = for_all(settings.control, 0.5, 0.95,
                    [&](std::int64_t s) { return locals_[s].setup_constrained(constraints_of(s), local); });
  if (!outcome.ok()) return outcome;
  return setup_coarse(unknowns, vectors, settings);
}

LocalSettings BddcPreconditioner::local_settings(const PreconditionerSettings& settings) {
  LocalSettings local = settings.local;
  local.block_size = settings.block_size;
  local.needs_schur_matrix = settings.scaling == BddcScaling::deluxe;
  return local;
}

Outcome BddcPreconditioner::setup_subdomains(const std::vector<SubdomainMatrix>& subdomains,
                                             std::int64_t unknowns, const Dense<double>& vectors,
                                             const PreconditionerSettings& settings) {
  threads_ = settings.threads;
  interface_ =
      classify_interface(subdomains, unknowns, settings.block_size, settings.vertex_size, settings.edge_ends);
  constraints_ = make_constraints(interface_, vectors, settings.constraints);
  if (!settings.updates) locals_.clear();
  locals_.resize(subdomains.size());
  std::vector<std::int32_t> interface_place(static_cast<std::size_t>(unknowns), -1);
  for (std::size_t i = 0; i < interface_.unknowns.size(); ++i) {
    interface_place[interface_.unknowns[i]] = static_cast<std::int32_t>(i);
  }
  const LocalSettings local = local_settings(settings);
  Outcome outcome = for_all(settings.control, 0, 0.5, [&](std::int64_t s) {
    return locals_[s].setup_interior(LocalMatrix(subdomains[s], interface_place), local);
  });
  if (!outcome.ok()) return outcome;
  places_.clear();
  for (const LocalProblem& own : locals_) {
    std::vector<std::int32_t>& places = places_.emplace_back();
    places.reserve(own.matrix().boundary().size());
    for (const std::int32_t unknown : own.matrix().boundary()) places.push_back(interface_place[unknown]);
  }
  classes_.assign(subdomains.size(), {});
  for (std::size_t c = 0; c < interface_.classes.size(); ++c) {
    for (const std::int32_t s : interface_.classes[c].subdomains) {
      classes_[s].push_back(static_cast<std::int32_t>(c));
    }
  }
  return {};
}

Outcome BddcPreconditioner::setup_coarse(std::int64_t unknowns, const Dense<double>& vectors,
                                         const PreconditionerSettings& settings) {
  number_boundaries();
  const Dense<double> kernel = coarse_values(
      interface_, constraints_, settings.singular ? vectors : Dense<double>(Device::serial(), unknowns, 0));
  return coarse_.setup(coarse_matrix(), kernel, settings.local.cancel);
}

Outcome BddcPreconditioner::for_all(const SetupControl& control, double begin, double end,
                                    const std::function<Outcome(std::int64_t)>& setup_one) const {
  std::atomic<std::int64_t> done = 0;
  return for_all(threads_, [&](std::int64_t s) {
    Outcome outcome = setup_one(s);
    const double share = static_cast<double>(++done) / static_cast<double>(subdomains());
    control.report(SolverPhase::setup, begin + (end - begin) * share);
    return outcome;
  });
}

Outcome BddcPreconditioner::for_all(int threads,
                                    const std::function<Outcome(std::int64_t)>& setup_one) const {
  std::vector<Outcome> outcomes(locals_.size());
  for_subdomains(threads, subdomains(), [&](std::int64_t s) { outcomes[s] = setup_one(s); });
  for (std::size_t s = 0; s < outcomes.size(); ++s) {
    if (!outcomes[s].ok()) return in_subdomain(static_cast<std::int64_t>(s), std::move(outcomes[s]));
  }
  return {};
}

Outcome BddcPreconditioner::in_subdomain(std::int64_t s, Outcome outcome) const {
  const LocalMatrix& matrix = locals_[s].matrix();
  const std::int32_t first =
      matrix.interior_size() > 0 ? matrix.interior().front() : matrix.boundary().front();
  outcome.message = "subdomain " + std::to_string(s) + " (" + std::to_string(matrix.matrix().rows()) +
                    " unknowns, row " + std::to_string(first) + " of A among them): " + outcome.message;
  outcome.row = {};
  return outcome;
}

/// Places of a class along the boundary of a subdomain that has it.
std::vector<std::int32_t> BddcPreconditioner::places_of(const InterfaceClass& c, std::int64_t s) const {
  std::vector<std::int32_t> places;
  places.reserve(c.unknowns.size());
  for (const std::int32_t unknown : c.unknowns)
    places.push_back(place_on(locals_[s].matrix().boundary(), unknown, s));
  return places;
}

LocalConstraints BddcPreconditioner::constraints_of(std::int64_t s) const {
  LocalConstraints local;
  for (const std::int32_t c : classes_[s]) {
    const std::vector<std::int32_t>& unknowns = interface_.classes[c].unknowns;
    const ClassConstraints& own = constraints_.classes[c];
    if (own.count == 0) continue;
    const std::vector<std::int32_t> places = places_of(interface_.classes[c], s);
    for (std::int32_t k = 0; k < own.count; ++k) {
      if (own.weights.empty()) {
        local.corners.push_back({own.first + k, places[k]});
        continue;
      }
      const auto row = own.weights.begin() + k * std::ssize(unknowns);
      local.averages.push_back({own.first + k, places, {row, row + std::ssize(unknowns)}});
    }
  }
  return local;
}

void BddcPreconditioner::set_weights(BddcScaling scaling) {
  weights_.assign(locals_.size(), {});
  std::vector<double> sums(interface_.unknowns.size(), 0.0);
  for (std::size_t s = 0; s < locals_.size(); ++s) {
    const LocalMatrix& matrix = locals_[s].matrix();
    std::vector<double>& diagonal = weights_[s].diagonal;
    diagonal.assign(matrix.boundary().size(), 1.0);
    for (std::int64_t b = 0; b < std::ssize(diagonal) && scaling != BddcScaling::cardinality; ++b) {
      diagonal[b] = 0;
      const std::int64_t row = matrix.interior_size() + b;
      for (std::int64_t k = matrix.matrix().row_offsets()[row]; k < matrix.matrix().row_offsets()[row + 1];
           ++k) {
        if (matrix.matrix().column_indices()[k] == row) diagonal[b] = matrix.matrix().values()[k];
      }
    }
    for (std::size_t b = 0; b < diagonal.size(); ++b) sums[places_[s][b]] += diagonal[b];
  }
  for (std::size_t s = 0; s < locals_.size(); ++s) {
    for (std::size_t b = 0; b < places_[s].size(); ++b) weights_[s].diagonal[b] /= sums[places_[s][b]];
  }
  plain_classes_ = 0;
  if (scaling == BddcScaling::deluxe) set_deluxe_blocks();
}

void BddcPreconditioner::set_deluxe_blocks() {
  const std::int64_t classes = std::ssize(interface_.classes);
  std::vector<std::vector<LocalWeights::Block>> blocks(interface_.classes.size());
  for_subdomains(threads_, classes, [&](std::int64_t c) {
    const InterfaceClass& own = interface_.classes[c];
    const std::int64_t size = std::ssize(own.unknowns);
    std::vector<Dense<double>> minors;
    for (const std::int32_t s : own.subdomains) {
      LocalWeights::Block& block = blocks[c].emplace_back();
      block.places = places_of(own, s);
      Dense<double>& minor = minors.emplace_back(Device::serial(), size, size);
      for (std::int64_t j = 0; j < size; ++j) {
        for (std::int64_t i = 0; i < size; ++i) {
          minor(i, j) = locals_[s].schur_matrix()(block.places[i], block.places[j]);
        }
      }
    }
    minors = deluxe_blocks(std::move(minors));
    if (minors.empty()) blocks[c].clear();
    for (std::size_t k = 0; k < minors.size(); ++k) blocks[c][k].matrix = std::move(minors[k]);
  });
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    plain_classes_ += blocks[c].empty() ? 1 : 0;
    for (std::size_t k = 0; k < blocks[c].size(); ++k) {
      LocalWeights& weights = weights_[interface_.classes[c].subdomains[k]];
      for (const std::int32_t place : blocks[c][k].places) weights.diagonal[place] = 0;
      weights.blocks.push_back(std::move(blocks[c][k]));
    }
  }
}

BddcPreconditioner::Gather BddcPreconditioner::make_gather(std::int64_t targets,
                                                           const std::vector<std::int32_t>& target_of_place) {
  Gather gather;
  gather.begin.assign(static_cast<std::size_t>(targets) + 1, 0);
  for (const std::int32_t t : target_of_place) ++gather.begin[t + 1];
  for (std::int64_t t = 0; t < targets; ++t) gather.begin[t + 1] += gather.begin[t];
  std::vector<std::int64_t> next(gather.begin.begin(), gather.begin.end() - 1);
  gather.places.resize(target_of_place.size());
  for (std::size_t p = 0; p < target_of_place.size(); ++p) {
    gather.places[next[target_of_place[p]]++] = static_cast<std::int64_t>(p);
  }
  return gather;
}

void BddcPreconditioner::Gather::sum(int threads, const double* source, double* target) const {
  constexpr std::int64_t worth_threads = 20000;
  const std::int64_t targets = std::ssize(begin) - 1;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && targets > worth_threads)
  for (std::int64_t t = 0; t < targets; ++t) {
    double sum = 0;
    for (std::int64_t k = begin[t]; k < begin[t + 1]; ++k) sum += source[places[k]];
    target[t] = sum;
  }
}

void BddcPreconditioner::number_boundaries() {
  boundary_begin_.assign(1, 0);
  coarse_begin_.assign(1, 0);
  std::vector<std::int32_t> targets;
  std::vector<std::int32_t> coarse_targets;
  for (std::size_t s = 0; s < locals_.size(); ++s) {
    append_offset(boundary_begin_, std::ssize(places_[s]));
    targets.insert(targets.end(), places_[s].begin(), places_[s].end());
    const std::vector<std::int32_t>& numbers = locals_[s].coarse_numbers();
    append_offset(coarse_begin_, std::ssize(numbers));
    coarse_targets.insert(coarse_targets.end(), numbers.begin(), numbers.end());
  }
  interface_gather_ = make_gather(interface_size(), targets);
  coarse_gather_ = make_gather(constraints_.coarse_unknowns, coarse_targets);
}

Csr<double> BddcPreconditioner::coarse_matrix() const {
  std::vector<Triplet<double>> triplets;
  for (const LocalProblem& own : locals_) {
    const std::vector<std::int32_t>& numbers = own.coarse_numbers();
    for (std::int64_t j = 0; j < std::ssize(numbers); ++j) {
      for (std::int64_t i = 0; i < std::ssize(numbers); ++i) {
        triplets.push_back({numbers[i], numbers[j], own.coarse_matrix()(i, j)});
      }
    }
  }
  return Csr<double>::from_triplets(constraints_.coarse_unknowns, constraints_.coarse_unknowns, triplets);
}

BddcPreconditioner::Scratch BddcPreconditioner::make_scratch() const {
  Scratch scratch;
  for (const LocalProblem& own : locals_) scratch.locals.push_back(own.make_scratch());
  scratch.boundary.resize(boundary_begin_.empty() ? 0 : static_cast<std::size_t>(boundary_begin_.back()));
  scratch.correction.resize(scratch.boundary.size());
  scratch.local_coarse.resize(coarse_begin_.empty() ? 0 : static_cast<std::size_t>(coarse_begin_.back()));
  scratch.coarse_right.resize(static_cast<std::size_t>(coarse_.size()));
  scratch.coarse.resize(scratch.coarse_right.size());
  scratch.interface.resize(interface_.unknowns.size());
  scratch.preconditioned.resize(interface_.unknowns.size());
  scratch.coarse_workspace = coarse_.make_workspace();
  return scratch;
}

std::size_t BddcPreconditioner::Scratch::bytes() const {
  std::size_t bytes =
      (boundary.capacity() + correction.capacity() + local_coarse.capacity() + coarse_right.capacity() +
       coarse.capacity() + interface.capacity() + preconditioned.capacity()) *
          sizeof(double) +
      (coarse_workspace ? coarse_workspace->bytes() : 0);
  for (const LocalProblem::Scratch& local : locals) bytes += local.bytes();
  return bytes;
}

void BddcPreconditioner::precondition(Scratch& scratch, const double* r, double* z) const {
  for_subdomains(threads_, subdomains(), [&](std::int64_t s) {
    double* const own = scratch.boundary.data() + boundary_begin_[s];
    double* const w = scratch.correction.data() + boundary_begin_[s];
    const std::int64_t size = std::ssize(places_[s]);
    for (std::int64_t b = 0; b < size; ++b) w[b] = r[places_[s][b]];
    weights_[s].apply(true, w, own);
    const Dense<double>& basis = locals_[s].coarse_basis();
    double* const products = scratch.local_coarse.data() + coarse_begin_[s];
    for (std::int64_t k = 0; k < basis.columns(); ++k) {
      double sum = 0;
      for (std::int64_t b = 0; b < size; ++b) sum += basis(b, k) * own[b];
      products[k] = sum;
    }
    locals_[s].solve_constrained(scratch.locals[s], own, w);
  });
  coarse_gather_.sum(1, scratch.local_coarse.data(), scratch.coarse_right.data());
  coarse_.solve(scratch.coarse_workspace.get(), scratch.coarse_right.data(), scratch.coarse.data());
  for_subdomains(threads_, subdomains(), [&](std::int64_t s) {
    double* const w = scratch.correction.data() + boundary_begin_[s];
    const Dense<double>& basis = locals_[s].coarse_basis();
    for (std::int64_t k = 0; k < basis.columns(); ++k) {
      const double u = scratch.coarse[locals_[s].coarse_numbers()[k]];
      for (std::int64_t b = 0; b < basis.rows(); ++b) w[b] += basis(b, k) * u;
    }
    weights_[s].apply(false, w, scratch.boundary.data() + boundary_begin_[s]);
  });
  interface_gather_.sum(threads_, scratch.boundary.data(), z);
}

void BddcPreconditioner::multiply(Scratch& scratch, const double* x, double* y) const {
  for_subdomains(threads_, subdomains(), [&](std::int64_t s) {
    double* const own = scratch.correction.data() + boundary_begin_[s];
    for (std::int64_t b = 0; b < std::ssize(places_[s]); ++b) own[b] = x[places_[s][b]];
    locals_[s].multiply_schur(scratch.locals[s], own, scratch.boundary.data() + boundary_begin_[s]);
  });
  interface_gather_.sum(threads_, scratch.boundary.data(), y);
}

void BddcPreconditioner::reduce(Scratch& scratch, const double* r, double* g, double* z) const {
  for_subdomains(threads_, subdomains(), [&](std::int64_t s) {
    const LocalMatrix& matrix = locals_[s].matrix();
    const std::int64_t interior = matrix.interior_size();
    double* const right = scratch.locals[s].interior.data();
    double* const solution = right + interior;
    for (std::int64_t i = 0; i < interior; ++i) right[i] = r[matrix.interior()[i]];
    locals_[s].solve_interior(scratch.locals[s], right, solution);
    for (std::int64_t i = 0; i < interior; ++i) z[matrix.interior()[i]] = solution[i];
    double* const own = scratch.boundary.data() + boundary_begin_[s];
    std::fill_n(own, matrix.boundary_size(), 0.0);
    matrix.subtract_from_boundary(solution, own);
  });
  interface_gather_.sum(threads_, scratch.boundary.data(), g);
  for (std::int64_t i = 0; i < interface_size(); ++i) g[i] += r[interface_.unknowns[i]];
}

void BddcPreconditioner::extend(Scratch& scratch, const double* u, double* z) const {
  for (std::int64_t i = 0; i < interface_size(); ++i) z[interface_.unknowns[i]] = u[i];
  for_subdomains(threads_, subdomains(), [&](std::int64_t s) {
    const LocalMatrix& matrix = locals_[s].matrix();
    double* const own = scratch.boundary.data() + boundary_begin_[s];
    for (std::int64_t b = 0; b < matrix.boundary_size(); ++b) own[b] = u[places_[s][b]];
    double* const right = scratch.locals[s].interior.data();
    double* const solution = right + matrix.interior_size();
    matrix.interior_from_boundary(own, right);
    locals_[s].solve_interior(scratch.locals[s], right, solution);
    for (std::int64_t i = 0; i < matrix.interior_size(); ++i) z[matrix.interior()[i]] -= solution[i];
  });
}

void BddcPreconditioner::apply(Scratch& scratch, const double* r, double* z) const {
  reduce(scratch, r, scratch.interface.data(), z);
  precondition(scratch, scratch.interface.data(), scratch.preconditioned.data());
  extend(scratch, scratch.preconditioned.data(), z);
}

std::vector<Statistic> BddcPreconditioner::statistics() const {
  std::vector<Statistic> result = {{"subdomains", subdomains()},
                                   {"interface_unknowns", interface_size()},
                                   {"corners", interface_.count(ClassKind::corner)},
                                   {"edges", interface_.count(ClassKind::edge)},
                                   {"faces", interface_.count(ClassKind::face)},
                                   {"coarse_unknowns", coarse_.size()}};
  if (coarse_.pinned() > 0) result.push_back({"pinned_coarse_unknowns", coarse_.pinned()});
  if (constraints_.redundant > 0) result.push_back({"redundant_constraints", constraints_.redundant});
  if (plain_classes_ > 0) result.push_back({"classes_without_deluxe", plain_classes_});
  return result;
}

std::size_t BddcPreconditioner::bytes() const {
  std::size_t bytes = coarse_.bytes();
  for (const LocalProblem& own : locals_) bytes += own.bytes();
  for (const LocalWeights& own : weights_) bytes += own.bytes();
  bytes += (interface_gather_.places.capacity() + coarse_gather_.places.capacity()) * sizeof(std::int64_t);
  for (const auto& places : places_) bytes += places.capacity() * sizeof(std::int32_t);
  return bytes;
}

}  // namespace echelon::bddc
