// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/cuda.cuh"
#include "backend/memory.hpp"
#include "domain_decomposition/bddc/device_kernels.cuh"
#include "domain_decomposition/bddc/device_preconditioner.hpp"
#include "domain_decomposition/schur/blocks.hpp"
#include "linalg/spmv/multiply.hpp"
#include "solver/nested_solver.hpp"
#include "support/text.hpp"

#include <echelon/domain_decomposition/schur_complement.hpp>
#include <echelon/linalg.hpp>
#include <echelon/matrix/transform.hpp>

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <utility>

namespace echelon::bddc {

namespace {

/// Boundary unknowns of a subdomain up to which the host forms its Schur complement, on all cores at once.
constexpr std::int64_t formed_by_host = 700;

template <class V>
Array<V> to_device(const Device& device, const std::vector<V>& host) {
  return Array<V>(device, std::span<const V>(host));
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

/// inverse = G^-1 for a symmetric positive definite G.
Outcome invert(const Dense<double>& G, DenseView<double> inverse) {
  const std::int64_t n = G.rows();
  if (n == 0) return {};
  Solver<double> solver = make_solver<double>("cholesky", G.device(), {{"refine", 0}});
  SolverImplementation<double>& factor = SolverAccess<double>::implementation(solver);
  Outcome outcome = factor.setup(G);
  const bool is_factored = outcome.ok() || (outcome.status == Status::singular && !outcome.row);
  if (!is_factored) return outcome;
  Cuda backend(G.device());
  Dense<double> identity(G.device(), n, n);
  backend.for_each(n * n, SetDiagonal{n, 1.0, identity.data()});
  const Control control;
  std::vector<Job> jobs(static_cast<std::size_t>(n));
  for (Job& job : jobs) job.control = &control;
  const auto workspace = factor.make_workspace();
  factor.solve(*workspace, std::as_const(identity).view(), inverse, jobs);
  backend.synchronize();
  return {};
}

/// The interiors of all subdomains, one after the other.
struct JoinedInteriors {
  std::vector<std::int32_t> rows;         ///< of A
  std::vector<std::int64_t> begin{0};     ///< of each subdomain
  std::vector<Triplet<double>> matrix;    ///< A_II
  std::vector<Triplet<double>> coupling;  ///< A_IG, with places in the interface as columns
};

JoinedInteriors join_interiors(Preconditioner& host) {
  JoinedInteriors joined;
  for (std::size_t s = 0; s < host.locals().size(); ++s) {
    const LocalProblem& local = host.locals()[s];
    const LocalMatrix& own = local.matrix();
    const Csr<double>& A = own.matrix();
    const std::int64_t omitted = local.omitted();
    const std::int64_t shift = joined.begin.back() - omitted;
    for (std::int64_t i = omitted; i < own.interior_size(); ++i) {
      const auto row = static_cast<std::int32_t>(shift + i);
      joined.rows.push_back(own.interior()[i]);
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        const std::int32_t j = A.column_indices()[k];
        if (j >= own.interior_size()) {
          joined.coupling.push_back({row, host.places()[s][j - own.interior_size()], A.values()[k]});
        } else if (j >= omitted) {
          joined.matrix.push_back({row, static_cast<std::int32_t>(shift + j), A.values()[k]});
        }
      }
    }
    append_offset(joined.begin, own.interior_size() - omitted);
  }
  return joined;
}

}  // namespace

Outcome DevicePreconditioner::setup(const std::vector<SubdomainMatrix>& subdomains, std::int64_t unknowns,
                                    const Dense<double>& vectors, const PreconditionerSettings& settings) {
  device_ = settings.device;
  unknowns_ = unknowns;
  interior_.reset();
  schur_ = constrained_ = {};
  PreconditionerSettings on_host = settings;
  on_host.local.for_gpu = true;
  on_host.local.formed_by_host = formed_by_host;
  // The GPU inverts the Schur complement, so that the host need not factor it.
  if (settings.local.schur == BddcSchur::cholesky) on_host.local.schur = BddcSchur::sparse_cholesky;
  Preconditioner host;
  if (Outcome outcome = host.setup(subdomains, unknowns, vectors, on_host); !outcome.ok()) return outcome;
  number_boundaries(host);
  if (std::optional<Outcome> lack = check_memory(host)) return *lack;
  schur_ = Array<double>(device_, block_begin_.back());
  constrained_ = Array<double>(device_, block_begin_.back());
  basis_ = Array<double>(device_, basis_begin_.back());
  Cuda(device_).synchronize();  // threads use what this one has allocated
  Outcome formed = host.for_all(complements_at_once(),
                                [&](std::int64_t s) { return set_schur(host.locals()[s], s, on_host); });
  if (!formed.ok()) return formed;
  for (std::int64_t s = 0; s < std::ssize(host.locals()); ++s) {
    if (settings.local.cancel.stop_requested()) return {Status::cancelled, "stopped by the caller"};
    if (Outcome outcome = set_subdomain(host, s, on_host); !outcome.ok())
      return host.in_subdomain(s, std::move(outcome));
  }
  if (Outcome outcome = set_coarse(host.coarse()); !outcome.ok()) return outcome;
  statistics_ = host.statistics();
  return set_interiors(host, settings);
}

void DevicePreconditioner::number_boundaries(Preconditioner& host) {
  boundary_begin_ = block_begin_ = coarse_begin_ = basis_begin_ = {0};
  std::vector<std::int32_t> places;
  std::vector<std::int32_t> numbers;
  for (std::size_t s = 0; s < host.locals().size(); ++s) {
    const std::int64_t size = std::ssize(host.places()[s]);
    const std::vector<std::int32_t>& own = host.locals()[s].coarse_numbers();
    append_offset(boundary_begin_, size);
    append_offset(block_begin_, size * size);
    append_offset(coarse_begin_, std::ssize(own));
    append_offset(basis_begin_, size * std::ssize(own));
    places.insert(places.end(), host.places()[s].begin(), host.places()[s].end());
    numbers.insert(numbers.end(), own.begin(), own.end());
  }
  place_in_interface_ = to_device(device_, places);
  coarse_number_ = to_device(device_, numbers);
  subdomain_of_place_ = to_device(device_, subdomain_of_element(boundary_begin_));
  subdomain_of_coarse_ = to_device(device_, subdomain_of_element(coarse_begin_));
  boundary_offsets_ = to_device(device_, boundary_begin_);
  block_offsets_ = to_device(device_, block_begin_);
  coarse_offsets_ = to_device(device_, coarse_begin_);
  basis_offsets_ = to_device(device_, basis_begin_);
  const auto copy = [&](const Preconditioner::Gather& gather) {
    return Gather{to_device(device_, gather.begin), to_device(device_, gather.places)};
  };
  interface_gather_ = copy(host.interface_gather());
  coarse_gather_ = copy(host.coarse_gather());
  interface_unknowns_ = to_device(device_, host.interface().unknowns);
}

/// The outcome if the dense matrices do not fit, with those of the set-up of one subdomain.
std::optional<Outcome> DevicePreconditioner::check_memory(Preconditioner& host) const {
  constexpr std::int64_t temporary = 6;  // matrices of the size of the largest Schur complement
  std::int64_t largest = 0;
  for (std::int64_t s = 0; s < std::ssize(host.locals()); ++s) largest = std::max(largest, boundary_size(s));
  const std::int64_t coarse = host.coarse().size();
  const std::size_t bytes = static_cast<std::size_t>(2 * block_begin_.back() + basis_begin_.back() +
                                                     temporary * largest * largest + 4 * coarse * coarse) *
                            sizeof(double);
  const std::size_t available = memory(device_).available;
  if (bytes <= available) return std::nullopt;
  return Outcome{Status::out_of_memory,
                 "the Schur complements of the subdomains and their inverses take about " +
                     byte_count(bytes) + " on the GPU, and " + byte_count(available) +
                     " are available; more subdomains have smaller boundaries, up to " +
                     std::to_string(largest) + " unknowns now"};
}

DenseView<double> DevicePreconditioner::block(Array<double>& matrices, std::int64_t s) const {
  const std::int64_t size = boundary_size(s);
  return {matrices.data() + block_begin_[s], size, size, std::max<std::int64_t>(size, 1), device_};
}

Outcome DevicePreconditioner::set_subdomain(Preconditioner& host, std::int64_t s,
                                            const PreconditionerSettings& settings) {
  if (boundary_size(s) == 0) return {};
  const LocalProblem& local = host.locals()[s];
  const bool is_exact = settings.local.schur == BddcSchur::sparse_cholesky;
  if (Outcome outcome = set_constrained(local, s, is_exact); !outcome.ok()) return outcome;
  scale(host.weights()[s], s);
  set_basis(local, host.weights()[s], s);
  return {};
}

/// Number of threads that form Schur complements: the analysis of each is the host's, and memory limits their
/// factors.
int DevicePreconditioner::complements_at_once() const {
  constexpr std::size_t factor_blocks = 12;  // memory of a factorisation, in matrices of the size of S
  constexpr std::size_t most = 8;
  std::size_t largest = 1;
  for (std::size_t s = 0; s + 1 < block_begin_.size(); ++s)
    largest = std::max(largest, static_cast<std::size_t>(block_begin_[s + 1] - block_begin_[s]));
  const std::size_t fitting = memory(device_).available / (factor_blocks * sizeof(double) * largest);
  return static_cast<int>(std::clamp<std::size_t>(fitting, 1, most));
}

/// Copies S from the host, or forms it by a partial factorisation.
Outcome DevicePreconditioner::set_schur(LocalProblem& local, std::int64_t s,
                                        const PreconditionerSettings& settings) {
  const DenseView<double> S = block(schur_, s);
  if (S.rows() == 0) return {};
  const Dense<double> formed = local.take_schur_matrix();
  if (formed.rows() > 0) {
    const Dense<double> copy = formed.to(device_);
    add<double>(1, copy.view(), 0, copy.view(), S);
    Cuda(device_).synchronize();
    return {};
  }
  std::vector<std::int32_t> boundary(static_cast<std::size_t>(S.rows()));
  std::iota(boundary.begin(), boundary.end(), static_cast<std::int32_t>(local.matrix().interior_size()));
  const Csr<double> A = local.matrix().matrix().to(device_);
  const SchurComplement<double> complement = schur_complement(A, boundary,
                                                              {.factorization = SchurFactorization::cholesky,
                                                               .ordering = Ordering::dissection,
                                                               .condition = false,
                                                               .device = device_,
                                                               .cancel = settings.local.cancel});
  if (!complement.ready()) {
    const Report& report = complement.report();
    return {report.status, "its interior is not positive definite: " + report.message};
  }
  add<double>(1, complement.matrix().view(), 0, complement.matrix().view(), S);
  Cuda(device_).synchronize();
  return {};
}

/// N = Z M^-1 Z^T, and G_FF^-1 added in F.
Outcome DevicePreconditioner::set_constrained(const LocalProblem& local, std::int64_t s, bool is_exact) {
  Cuda backend(device_);
  const DenseView<double> N = block(constrained_, s);
  const std::int64_t boundary = N.rows();
  const LocalProblem::Correction correction = local.correction();
  if (correction.Z.columns() == 0) {
    backend.fill(boundary * boundary, 0.0, N.data());
  } else {
    const Dense<double> Z = correction.Z.to(device_);
    const Dense<double> product = correction.product.to(device_);
    gemm<double>(1, product.view(), transposed(Z.view()), 0, N);
  }
  const std::int64_t free = std::ssize(local.free_places());
  if (free == 0) return {};
  const Array<std::int32_t> places = to_device(device_, local.free_places());
  Dense<double> P(device_, free, free);
  if (is_exact) {
    Dense<double> G(device_, free, free);
    const DenseView<const double> S = block(schur_, s);
    schur::gather_on<CudaTarget, double>(S, places.data(), places.data(), G.view());
    Outcome outcome = invert(G, P.view());
    if (!outcome.ok()) {
      outcome.message = "its constrained problem is not positive definite: " + outcome.message;
      return outcome;
    }
  } else {
    P = local.free_inverse().to(device_);
  }
  backend.for_each(free * free, AddAtPlaces{free, places.data(), P.data(), boundary, N.data()});
  backend.synchronize();
  return {};
}

/// N = D N D^T, symmetric to the last bit.
void DevicePreconditioner::scale(const LocalWeights& weights, std::int64_t s) {
  Cuda backend(device_);
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
  gemm<double>(1, D.view(), N, 0, product.view());
  gemm<double>(1, product.view(), transposed(D.view()), 0, N);
  backend.for_each(size * size, ScaleSymmetric{size, nullptr, N.data()});
  backend.synchronize();
}

/// D Phi, formed on the host.
void DevicePreconditioner::set_basis(const LocalProblem& local, const LocalWeights& weights, std::int64_t s) {
  const Dense<double>& basis = local.coarse_basis();
  std::vector<double> weighted(static_cast<std::size_t>(basis.rows() * basis.columns()));
  for (std::int64_t k = 0; k < basis.columns(); ++k)
    weights.apply(false, basis.data() + k * basis.leading(), weighted.data() + k * basis.rows());
  if (weighted.empty()) return;
  const Array<double> copy = to_device(device_, weighted);
  Cuda backend(device_);
  backend.copy(copy.size(), copy.data(), basis_.data() + basis_begin_[s]);
  backend.synchronize();
}

/// The inverse of the coarse matrix, zero in pinned unknowns.
Outcome DevicePreconditioner::set_coarse(const CoarseProblem& coarse) {
  const std::int64_t size = coarse.size();
  const std::int64_t kept = std::ssize(coarse.kept());
  coarse_inverse_ = Array<double>(device_, size * size);
  Cuda backend(device_);
  backend.fill(size * size, 0.0, coarse_inverse_.data());
  if (kept == 0) return {};
  const Dense<double> K = to_dense(MatrixRef<double>(coarse.matrix())).to(device_);
  Dense<double> inverse(device_, kept, kept);
  Outcome outcome = invert(K, inverse.view());
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

/// Factors the interiors of all subdomains together, and sets their products with the interface.
Outcome DevicePreconditioner::set_interiors(Preconditioner& host, const PreconditionerSettings& settings) {
  const JoinedInteriors joined = join_interiors(host);
  const std::int64_t size = joined.begin.back();
  interior_unknowns_ = to_device(device_, joined.rows);
  const Csr<double> to_interior = Csr<double>::from_triplets(size, interface_size(), joined.coupling);
  interface_to_interior_ = to_interior.to(device_);
  interior_to_interface_ = transpose(to_interior).to(device_);
  interior_matrix_ = Csr<double>::from_triplets(size, size, joined.matrix).to(device_);
  if (size == 0) return {};
  interior_.emplace(make_solver<double>("sparse-cholesky", device_, {{"refine", 0}, {"condition", false}}));
  SolverImplementation<double>& factor = SolverAccess<double>::implementation(*interior_);
  factor.set_cancel(settings.local.cancel);
  Outcome outcome = factor.setup(interior_matrix_);
  if (outcome.ok()) return {.warnings = std::move(outcome.warnings)};
  outcome.message = "its interior is not positive definite: " + outcome.message;
  if (!outcome.row) return outcome;
  const auto after = std::upper_bound(joined.begin.begin(), joined.begin.end(), *outcome.row);
  return host.in_subdomain(after - joined.begin.begin() - 1, std::move(outcome));
}

DevicePreconditioner::Scratch DevicePreconditioner::make_scratch() const {
  Scratch scratch;
  if (interior_)
    scratch.interior_workspace = SolverAccess<double>::implementation(*interior_).make_workspace();
  const auto vector = [&](std::int64_t size) { return Array<double>(device_, size); };
  scratch.boundary = vector(place_in_interface_.size());
  scratch.local_coarse = vector(coarse_number_.size());
  scratch.coarse_right = vector(coarse_gather_.targets());
  scratch.coarse = vector(coarse_gather_.targets());
  scratch.interior = vector(interior_unknowns_.size());
  scratch.solution = vector(interior_unknowns_.size());
  scratch.interface = vector(interface_size());
  scratch.preconditioned = vector(interface_size());
  return scratch;
}

std::size_t DevicePreconditioner::Scratch::bytes() const {
  return (interior_workspace ? interior_workspace->bytes() : 0) + boundary.bytes() + local_coarse.bytes() +
         coarse_right.bytes() + coarse.bytes() + interior.bytes() + solution.bytes() + interface.bytes() +
         preconditioned.bytes();
}

std::size_t DevicePreconditioner::bytes() const {
  return interface_unknowns_.bytes() + interior_unknowns_.bytes() + place_in_interface_.bytes() +
         subdomain_of_place_.bytes() + subdomain_of_coarse_.bytes() + coarse_number_.bytes() +
         boundary_offsets_.bytes() + block_offsets_.bytes() + coarse_offsets_.bytes() +
         basis_offsets_.bytes() + interface_gather_.places.bytes() + interface_gather_.begin.bytes() +
         coarse_gather_.places.bytes() + coarse_gather_.begin.bytes() + schur_.bytes() +
         constrained_.bytes() + basis_.bytes() + coarse_inverse_.bytes() + interior_matrix_.bytes() +
         interior_to_interface_.bytes() + interface_to_interior_.bytes() +
         (interior_ ? SolverAccess<double>::implementation(*interior_).bytes() : 0);
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
  backend.fill(unknowns_, 0.0, z);
  if (interior_) {
    backend.for_each(interior, TakeRows{interior_unknowns_.data(), r, scratch.interior.data()});
    SolverAccess<double>::implementation(*interior_)
        .apply(*scratch.interior_workspace, scratch.interior.data(), scratch.solution.data());
    backend.for_each(interior, PutRows{interior_unknowns_.data(), 1.0, scratch.solution.data(), 0.0, z});
  }
  if (interface_size() == 0) return;
  backend.for_each(interface_size(), TakeRows{interface_unknowns_.data(), r, g});
  if (interior_) {
    echelon::multiply(backend, -1.0, MatrixRef<double>(interior_to_interface_), scratch.solution.data(), 1.0,
                      g);
  }
}

void DevicePreconditioner::extend(Scratch& scratch, const double* u, double* z) const {
  if (interface_size() == 0) return;
  Cuda backend(device_);
  backend.for_each(interface_size(), PutRows{interface_unknowns_.data(), 1.0, u, 0.0, z});
  if (!interior_) return;
  echelon::multiply(backend, 1.0, MatrixRef<double>(interface_to_interior_), u, 0.0, scratch.interior.data());
  SolverAccess<double>::implementation(*interior_)
      .apply(*scratch.interior_workspace, scratch.interior.data(), scratch.solution.data());
  backend.for_each(interior_unknowns_.size(),
                   PutRows{interior_unknowns_.data(), -1.0, scratch.solution.data(), 1.0, z});
}

void DevicePreconditioner::apply(Scratch& scratch, const double* r, double* z) const {
  reduce(scratch, r, scratch.interface.data(), z);
  precondition(scratch, scratch.interface.data(), scratch.preconditioned.data());
  extend(scratch, scratch.preconditioned.data(), z);
}

}  // namespace echelon::bddc
