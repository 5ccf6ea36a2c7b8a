// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/cuda.cuh"
#include "backend/device/memory.hpp"
#include "domain_decomposition/bddc/cuda/kernels.cuh"
#include "domain_decomposition/bddc/cuda/preconditioner.hpp"
#include "domain_decomposition/bddc/cuda/schur.cuh"
#include "support/stopwatch.hpp"
#include "support/text.hpp"
#include "support/workspace_pool.hpp"

#include <echelon/linalg.hpp>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace echelon::bddc {
namespace {

/// y = the products of all columns with x; a warp for each column.
__global__ void __launch_bounds__(product_threads)
    multiply_boundaries(BoundaryProduct product, const double* x, double* y) {
  const std::int64_t column = (std::int64_t{blockIdx.x} * product_threads + threadIdx.x) / warp_size;
  if (column >= product.columns) return;
  const std::int32_t s = product.subdomain[column];
  const std::int64_t first = product.boundary_begin[s];
  const std::int64_t count = product.boundary_begin[s + 1] - first;
  const double* const elements =
      product.matrices + product.begin[s] + (column - product.first_column[s]) * count;
  const double sum = warp_dot(elements, x, product.places + first, count);
  if (lane_id() == 0) y[column] = sum;
}

/// y = A x for a symmetric dense A; a warp for each row.
__global__ void __launch_bounds__(product_threads)
    multiply_symmetric(std::int64_t n, const double* A, const double* x, double* y) {
  const std::int64_t row = (std::int64_t{blockIdx.x} * product_threads + threadIdx.x) / warp_size;
  if (row >= n) return;
  const double sum = warp_dot(A + row * n, x, nullptr, n);
  if (lane_id() == 0) y[row] = sum;
}

void append_offset(std::vector<std::int64_t>& offsets, std::int64_t count) {
  offsets.push_back(offsets.back() + count);
}

/// Number of the subdomain of each element, from the offsets of the subdomains.
std::vector<std::int32_t> subdomain_of_element(const std::vector<std::int64_t>& begin) {
  std::vector<std::int32_t> result(static_cast<std::size_t>(begin.back()));
  for (std::size_t s = 0; s + 1 < begin.size(); ++s)
    std::fill(result.begin() + begin[s], result.begin() + begin[s + 1], static_cast<std::int32_t>(s));
  return result;
}

unsigned blocks_of_warps(std::int64_t warps) {
  constexpr std::int64_t per_block = product_threads / warp_size;
  return static_cast<unsigned>((warps + per_block - 1) / per_block);
}

void multiply_all(const BoundaryProduct& product, const double* x, double* y) {
  if (product.columns == 0) return;
  multiply_boundaries<<<blocks_of_warps(product.columns), product_threads, 0, stream()>>>(product, x, y);
  check(cudaGetLastError());
}

/// Times of the stages of a set-up.
struct Stages {
  Stopwatch watch;
  std::vector<Statistic> statistics;
  void end(const char* name) { statistics.push_back({name, std::exchange(watch, Stopwatch()).seconds()}); }
};

/// Dense matrices of the size of a Schur complement that the set-up of one constrained problem has at a time.
constexpr std::int64_t matrices_of_setup = 4;

}  // namespace

Outcome DevicePreconditioner::setup(const std::vector<SubdomainMatrix>& subdomains, std::int64_t unknowns,
                                    const Dense<double>& vectors, const PreconditionerSettings& settings) {
  device_ = settings.device;
  unknowns_ = unknowns;
  interiors_ = {};
  schur_ = constrained_ = {};
  PreconditionerSettings on_host = settings;
  on_host.local.for_gpu = true;
  BddcPreconditioner host;
  Stages stages;
  if (Outcome outcome = host.setup_subdomains(subdomains, unknowns, vectors, on_host); !outcome.ok())
    return outcome;
  number_boundaries(host);
  if (std::optional<Outcome> lack = check_memory(2)) return *lack;
  stages.end("subdomain_seconds");
  Outcome outcome = interiors_.analyze(host, settings.threads, settings.local.cancel);
  if (!outcome.ok()) return outcome;
  stages.end("analysis_seconds");
  if (outcome = set_schur(host, on_host); !outcome.ok()) return outcome;
  stages.end("schur_seconds");
  host.set_weights(settings.scaling);
  if (outcome = set_constrained(host, on_host); !outcome.ok()) return outcome;
  stages.end("constrained_seconds");
  if (outcome = host.setup_coarse(unknowns, vectors, settings); !outcome.ok()) return outcome;
  if (outcome = set_coarse_space(host); !outcome.ok()) return outcome;
  stages.end("coarse_seconds");
  statistics_ = host.statistics();
  statistics_.insert(statistics_.end(), stages.statistics.begin(), stages.statistics.end());
  return outcome;
}

/// Numbers the places of all boundaries, and the rows of all subdomain matrices.
void DevicePreconditioner::number_boundaries(BddcPreconditioner& host) {
  boundary_begin_ = block_begin_ = {0};
  std::vector<std::int32_t> places, boundary_rows, interior_rows, interior_unknowns;
  std::int64_t row = 0;
  for (std::size_t s = 0; s < host.locals().size(); ++s) {
    const LocalMatrix& own = host.locals()[s].matrix();
    const std::int64_t size = own.boundary_size();
    append_offset(boundary_begin_, size);
    append_offset(block_begin_, size * size);
    places.insert(places.end(), host.places()[s].begin(), host.places()[s].end());
    for (std::int64_t i = host.locals()[s].omitted(); i < own.interior_size(); ++i) {
      interior_rows.push_back(static_cast<std::int32_t>(row + i));
      interior_unknowns.push_back(own.interior()[i]);
    }
    for (std::int64_t b = 0; b < size; ++b)
      boundary_rows.push_back(static_cast<std::int32_t>(row + own.interior_size() + b));
    row += own.matrix().rows();
  }
  place_in_interface_ = to_device(device_, places);
  boundary_rows_ = to_device(device_, boundary_rows);
  interior_rows_ = to_device(device_, interior_rows);
  interior_unknowns_ = to_device(device_, interior_unknowns);
  subdomain_of_place_ = to_device(device_, subdomain_of_element(boundary_begin_));
  boundary_offsets_ = to_device(device_, boundary_begin_);
  block_offsets_ = to_device(device_, block_begin_);
  interface_unknowns_ = to_device(device_, host.interface().unknowns);
}

/// The outcome if `copies` dense matrices of each subdomain do not fit, with those of the set-up of one.
std::optional<Outcome> DevicePreconditioner::check_memory(std::int64_t copies) const {
  const std::int64_t largest = largest_boundary();
  const std::size_t bytes =
      static_cast<std::size_t>(copies * block_begin_.back() + matrices_of_setup * largest * largest) *
      sizeof(double);
  const std::size_t available = memory(device_).available;
  if (bytes <= available) return std::nullopt;
  return Outcome{Status::out_of_memory,
                 "the Schur complements of the subdomains and their inverses take about " +
                     byte_count(bytes) + " on the GPU, and " + byte_count(available) +
                     " are available; more subdomains have smaller boundaries, up to " +
                     std::to_string(largest) + " unknowns now"};
}

std::int64_t DevicePreconditioner::largest_boundary() const {
  std::int64_t largest = 0;
  for (std::int64_t s = 0; s + 1 < std::ssize(boundary_begin_); ++s)
    largest = std::max(largest, boundary_size(s));
  return largest;
}

DenseView<double> DevicePreconditioner::block(Array<double>& matrices, std::int64_t s) const {
  const std::int64_t size = boundary_size(s);
  return {matrices.data() + block_begin_[s], size, size, std::max<std::int64_t>(size, 1), device_};
}

/// Whether the GPU inverts the constrained problems, in place of factors of the host.
bool DevicePreconditioner::is_inverted(BddcSchur schur) {
  return schur != BddcSchur::lu;
}

/// Forms the Schur complements, and copies them to the host where it factors them or needs their minors.
Outcome DevicePreconditioner::set_schur(BddcPreconditioner& host, const PreconditionerSettings& settings) {
  schur_ = Array<double>(device_, block_begin_.back());
  Outcome outcome = interiors_.factor(host, device_, {schur_.data(), block_begin_}, settings.local.cancel);
  if (!outcome.ok()) return outcome;
  if (settings.scaling != BddcScaling::deluxe && is_inverted(settings.local.schur)) return outcome;
  return host.for_all(settings.threads, [&](std::int64_t s) -> Outcome {
    const std::int64_t size = boundary_size(s);
    Array<double> copy(Device::serial(), size * size);
    memory_detail::copy(Device::serial(), copy.data(), device_, schur_.data() + block_begin_[s],
                        copy.bytes());
    host.locals()[s].set_schur_matrix(Dense<double>(size, size, std::move(copy)));
    return {};
  });
}

/// Number of threads that set up constrained problems: memory limits their matrices.
int DevicePreconditioner::problems_at_once(int threads) const {
  constexpr std::int64_t most = 8;
  const std::int64_t largest = largest_boundary();
  const std::size_t bytes = static_cast<std::size_t>(matrices_of_setup * largest * largest) * sizeof(double);
  const std::size_t fitting = memory(device_).available / std::max<std::size_t>(bytes, 1);
  return static_cast<int>(
      std::clamp<std::int64_t>(static_cast<std::int64_t>(fitting), 1, std::min<std::int64_t>(most, threads)));
}

/// Solves the constrained problems: their operators D N D^T on the GPU, and the coarse basis on the host.
Outcome DevicePreconditioner::set_constrained(BddcPreconditioner& host,
                                              const PreconditionerSettings& settings) {
  if (std::optional<Outcome> lack = check_memory(1)) return *lack;
  constrained_ = Array<double>(device_, block_begin_.back());
  Cuda(device_).synchronize();  // threads use what this one has allocated
  WorkspacePool<DeviceTools> pool;
  const auto make_tools = [&] { return std::make_unique<DeviceTools>(device_); };
  const LocalSettings local = BddcPreconditioner::local_settings(settings);
  // The blocks of Crout's iteration wait for each other, and occupy the GPU.
  const bool one_by_one = settings.local.schur == BddcSchur::crout_iterative;
  const int threads = one_by_one ? 1 : problems_at_once(settings.threads);
  return host.for_all(threads, [&](std::int64_t s) -> Outcome {
    if (boundary_size(s) == 0) return {};
    if (local.cancel.stop_requested()) return {Status::cancelled, "stopped by the caller"};
    return pool.with_workspace(make_tools,
                               [&](DeviceTools& tools) { return set_subdomain(tools, host, s, local); });
  });
}

Outcome DevicePreconditioner::set_subdomain(DeviceTools& tools, BddcPreconditioner& host, std::int64_t s,
                                            const LocalSettings& settings) {
  LocalProblem& local = host.locals()[s];
  DeviceSchur on_device(tools, block(schur_, s), settings);
  if (is_inverted(settings.schur)) local.set_schur_on_device(on_device);
  Outcome outcome = local.setup_constrained(host.constraints_of(s), settings);
  if (outcome.ok() && is_inverted(settings.schur)) {
    set_operator(tools, local, on_device.inverse(), s);
  } else if (outcome.ok()) {
    set_operator(tools, local, local.free_inverse().to(device_), s);
  }
  local.release_factor();
  if (outcome.ok()) scale(tools, host.weights()[s], s);
  return outcome;
}

/// N = Z M^-1 Z^T, and G_FF^-1 added in F.
void DevicePreconditioner::set_operator(DeviceTools& tools, const LocalProblem& local,
                                        const Dense<double>& free_inverse, std::int64_t s) {
  Cuda& backend = tools.backend;
  const DenseView<double> N = block(constrained_, s);
  const std::int64_t boundary = N.rows();
  const LocalProblem::Correction correction = local.correction();
  if (correction.Z.columns() == 0) {
    backend.fill(boundary * boundary, 0.0, N.data());
  } else {
    const Dense<double> Z = correction.Z.to(device_);
    const Dense<double> product = correction.product.to(device_);
    gemm<double>(tools.context, 1, product.view(), transposed(Z.view()), 0, N);
  }
  const std::int64_t free = free_inverse.rows();
  const Array<std::int32_t> places = to_device(device_, local.free_places());
  backend.for_each(free * free, AddAtPlaces{free, places.data(), free_inverse.data(), boundary, N.data()});
  backend.synchronize();
}

/// N = D N D^T, symmetric to the last bit.
void DevicePreconditioner::scale(DeviceTools& tools, const LocalWeights& weights, std::int64_t s) {
  Cuda& backend = tools.backend;
  const DenseView<double> N = block(constrained_, s);
  const std::int64_t size = N.rows();
  const Array<double> diagonal = to_device(device_, weights.diagonal);
  if (weights.blocks.empty()) {
    backend.for_each(size * size, ScaleSymmetric{size, diagonal.data(), N.data()});
    backend.synchronize();
    return;
  }
  Dense<double> D(device_, size, size);
  backend.fill(size * size, 0.0, D.data());
  backend.for_each(size, PutDiagonal{size, diagonal.data(), D.data()});
  for (const LocalWeights::Block& own : weights.blocks) {
    const Array<std::int32_t> places = to_device(device_, own.places);
    const Dense<double> matrix = own.matrix.to(device_);
    const std::int64_t order = matrix.rows();
    backend.for_each(order * order, PutAtPlaces{order, places.data(), matrix.data(), size, D.data()});
    backend.synchronize();
  }
  Dense<double> product(device_, size, size);
  gemm<double>(tools.context, 1, D.view(), N, 0, product.view());
  gemm<double>(tools.context, 1, product.view(), transposed(D.view()), 0, N);
  backend.for_each(size * size, ScaleSymmetric{size, nullptr, N.data()});
  backend.synchronize();
}

/// The bases D Phi, formed on the host, and the numbers of the coarse unknowns.
Outcome DevicePreconditioner::set_coarse_space(const BddcPreconditioner& host) {
  std::vector<std::int64_t> coarse_begin{0};
  std::vector<std::int64_t> basis_begin{0};
  std::vector<std::int32_t> numbers;
  std::vector<double> bases;
  for (std::size_t s = 0; s < host.locals().size(); ++s) {
    const std::vector<std::int32_t>& own = host.locals()[s].coarse_numbers();
    const Dense<double>& basis = host.locals()[s].coarse_basis();
    numbers.insert(numbers.end(), own.begin(), own.end());
    append_offset(coarse_begin, std::ssize(own));
    append_offset(basis_begin, basis.rows() * basis.columns());
    bases.resize(static_cast<std::size_t>(basis_begin.back()));
    for (std::int64_t k = 0; k < basis.columns(); ++k) {
      host.weights()[s].apply(false, basis.data() + k * basis.leading(),
                              bases.data() + basis_begin[s] + k * basis.rows());
    }
  }
  basis_ = to_device(device_, bases);
  coarse_number_ = to_device(device_, numbers);
  subdomain_of_coarse_ = to_device(device_, subdomain_of_element(coarse_begin));
  coarse_offsets_ = to_device(device_, coarse_begin);
  basis_offsets_ = to_device(device_, basis_begin);
  const auto copy = [&](const BddcPreconditioner::Gather& gather) {
    return Gather{to_device(device_, gather.begin), to_device(device_, gather.places)};
  };
  interface_gather_ = copy(host.interface_gather());
  coarse_gather_ = copy(host.coarse_gather());
  return set_coarse(host.coarse());
}

/// The inverse of the coarse matrix, zero in pinned unknowns.
Outcome DevicePreconditioner::set_coarse(const CoarseProblem& coarse) {
  const std::int64_t size = coarse.size();
  const std::int64_t kept = std::ssize(coarse.kept());
  coarse_inverse_ = Array<double>(device_, size * size);
  Cuda backend(device_);
  backend.fill(size * size, 0.0, coarse_inverse_.data());
  if (kept == 0) return {};
  Dense<double> K = to_dense(MatrixRef<double>(coarse.matrix())).to(device_);
  Dense<double> inverse(device_, kept, kept);
  DeviceTools tools(device_);
  Outcome outcome = invert(tools, K, inverse.view());
  if (!outcome.ok()) {
    outcome.message = "the coarse problem is not positive definite: " + outcome.message;
    return outcome;
  }
  const Array<std::int32_t> places = to_device(device_, coarse.kept());
  backend.for_each(kept * kept,
                   AddAtPlaces{kept, places.data(), inverse.data(), size, coarse_inverse_.data()});
  backend.for_each(size * size, ScaleSymmetric{size, nullptr, coarse_inverse_.data()});
  backend.synchronize();
  return {};
}

DevicePreconditioner::Scratch DevicePreconditioner::make_scratch() const {
  Scratch scratch;
  const auto vector = [&](std::int64_t size) { return Array<double>(device_, size); };
  scratch.boundary = vector(place_in_interface_.size());
  scratch.local_coarse = vector(coarse_number_.size());
  scratch.coarse_right = vector(coarse_gather_.targets());
  scratch.coarse = vector(coarse_gather_.targets());
  scratch.rows = vector(interiors_.rows());
  scratch.interior_workspace = vector(interiors_.workspace_size());
  scratch.interface = vector(interface_size());
  scratch.preconditioned = vector(interface_size());
  return scratch;
}

std::size_t DevicePreconditioner::Scratch::bytes() const {
  return interior_workspace.bytes() + rows.bytes() + boundary.bytes() + local_coarse.bytes() +
         coarse_right.bytes() + coarse.bytes() + interface.bytes() + preconditioned.bytes();
}

std::size_t DevicePreconditioner::bytes() const {
  return interface_unknowns_.bytes() + interior_unknowns_.bytes() + place_in_interface_.bytes() +
         subdomain_of_place_.bytes() + subdomain_of_coarse_.bytes() + coarse_number_.bytes() +
         boundary_offsets_.bytes() + block_offsets_.bytes() + coarse_offsets_.bytes() +
         basis_offsets_.bytes() + interface_gather_.places.bytes() + interface_gather_.begin.bytes() +
         coarse_gather_.places.bytes() + coarse_gather_.begin.bytes() + schur_.bytes() +
         constrained_.bytes() + basis_.bytes() + coarse_inverse_.bytes() + boundary_rows_.bytes() +
         interior_rows_.bytes() + interiors_.bytes();
}

void DevicePreconditioner::precondition(Scratch& scratch, const double* r, double* z) const {
  if (interface_size() == 0) return;
  Cuda backend(device_);
  const CurrentDevice current(device_.id());
  const std::int64_t* const boundaries = boundary_offsets_.data();
  multiply_all({coarse_number_.size(), subdomain_of_coarse_.data(), coarse_offsets_.data(),
                basis_offsets_.data(), basis_.data(), boundaries, place_in_interface_.data()},
               r, scratch.local_coarse.data());
  backend.for_each(coarse_gather_.targets(),
                   SumPlaces{coarse_gather_.begin.data(), coarse_gather_.places.data(),
                             scratch.local_coarse.data(), scratch.coarse_right.data()});
  const std::int64_t coarse = coarse_gather_.targets();
  if (coarse > 0) {
    multiply_symmetric<<<blocks_of_warps(coarse), product_threads, 0, stream()>>>(
        coarse, coarse_inverse_.data(), scratch.coarse_right.data(), scratch.coarse.data());
    check(cudaGetLastError());
  }
  multiply_all({place_in_interface_.size(), subdomain_of_place_.data(), boundaries, block_offsets_.data(),
                constrained_.data(), boundaries, place_in_interface_.data()},
               r, scratch.boundary.data());
  backend.for_each(interface_size(),
                   SumWithCoarse{{interface_gather_.begin.data(), interface_gather_.places.data(),
                                  scratch.boundary.data(), z},
                                 subdomain_of_place_.data(),
                                 boundaries,
                                 coarse_offsets_.data(),
                                 coarse_number_.data(),
                                 basis_offsets_.data(),
                                 basis_.data(),
                                 scratch.coarse.data()});
}

void DevicePreconditioner::multiply(Scratch& scratch, const double* x, double* y) const {
  if (interface_size() == 0) return;
  Cuda backend(device_);
  const CurrentDevice current(device_.id());
  const std::int64_t* const boundaries = boundary_offsets_.data();
  multiply_all({place_in_interface_.size(), subdomain_of_place_.data(), boundaries, block_offsets_.data(),
                schur_.data(), boundaries, place_in_interface_.data()},
               x, scratch.boundary.data());
  backend.for_each(interface_size(), SumPlaces{interface_gather_.begin.data(),
                                               interface_gather_.places.data(), scratch.boundary.data(), y});
}

void DevicePreconditioner::reduce(Scratch& scratch, const double* r, double* g, double* z) const {
  Cuda backend(device_);
  const std::int64_t interior = interior_unknowns_.size();
  double* const rows = scratch.rows.data();
  backend.fill(unknowns_, 0.0, z);
  backend.fill(scratch.rows.size(), 0.0, rows);
  backend.for_each(interior, CopyIndexed{interior_unknowns_.data(), r, interior_rows_.data(), rows});
  interiors_.solve(rows, scratch.interior_workspace.data());
  backend.for_each(interior, CopyIndexed{interior_rows_.data(), rows, interior_unknowns_.data(), z});
  if (interface_size() == 0) return;
  interiors_.multiply_boundaries(rows, scratch.boundary.data());
  backend.for_each(interface_size(), SumPlaces{interface_gather_.begin.data(),
                                               interface_gather_.places.data(), scratch.boundary.data(), g});
  backend.for_each(interface_size(), AddElements{interface_unknowns_.data(), r, nullptr, g});
}

void DevicePreconditioner::extend(Scratch& scratch, const double* u, double* z) const {
  if (interface_size() == 0) return;
  Cuda backend(device_);
  double* const rows = scratch.rows.data();
  backend.for_each(interface_size(), CopyIndexed{nullptr, u, interface_unknowns_.data(), z});
  backend.fill(scratch.rows.size(), 0.0, rows);
  backend.for_each(boundary_rows_.size(),
                   CopyIndexed{place_in_interface_.data(), u, boundary_rows_.data(), rows});
  interiors_.solve(rows, scratch.interior_workspace.data());
  backend.for_each(interior_unknowns_.size(),
                   AddElements{interior_rows_.data(), rows, interior_unknowns_.data(), z});
}

void DevicePreconditioner::apply(Scratch& scratch, const double* r, double* z) const {
  reduce(scratch, r, scratch.interface.data(), z);
  precondition(scratch, scratch.interface.data(), scratch.preconditioned.data());
  extend(scratch, scratch.preconditioned.data(), z);
}

}  // namespace echelon::bddc
