// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/domain_decomposition/cube_elements.hpp>
#include <echelon/error.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace echelon {

namespace {

constexpr int corners_of_element = 8;

/// Coordinate 0 or 1 of a corner of the unit cube in a direction.
constexpr int bit(int corner, int direction) {
  return corner >> direction & 1;
}

/// Stiffness matrix of Poisson's equation on the unit cube: products of one-dimensional matrices.
std::vector<double> poisson_stiffness() {
  const auto mass = [](int a, int b) { return a == b ? 1.0 / 3 : 1.0 / 6; };
  const auto stiffness = [](int a, int b) { return a == b ? 1.0 : -1.0; };
  std::vector<double> K;
  for (int j = 0; j < corners_of_element; ++j) {
    for (int i = 0; i < corners_of_element; ++i) {
      double sum = 0;
      for (int direction = 0; direction < 3; ++direction) {
        double product = 1;
        for (int d = 0; d < 3; ++d) {
          product *= d == direction ? stiffness(bit(i, d), bit(j, d)) : mass(bit(i, d), bit(j, d));
        }
        sum += product;
      }
      K.push_back(sum);
    }
  }
  return K;
}

/// Gradients of the eight trilinear functions at a point of the unit cube.
std::array<std::array<double, 3>, corners_of_element> gradients(const std::array<double, 3>& point) {
  std::array<std::array<double, 3>, corners_of_element> result{};
  for (int corner = 0; corner < corners_of_element; ++corner) {
    for (int direction = 0; direction < 3; ++direction) {
      double product = 1;
      for (int d = 0; d < 3; ++d) {
        const bool upper = bit(corner, d) == 1;
        product *= d == direction ? (upper ? 1 : -1) : (upper ? point[d] : 1 - point[d]);
      }
      result[corner][direction] = product;
    }
  }
  return result;
}

/// Stiffness matrix of linear elasticity on the unit cube, by Gauss's rule with eight points:
/// lambda div u div v + 2 mu e(u) : e(v).
std::vector<double> elasticity_stiffness() {
  constexpr double poisson_ratio = 0.3;
  const double lambda = poisson_ratio / ((1 + poisson_ratio) * (1 - 2 * poisson_ratio));
  const double mu = 1 / (2 * (1 + poisson_ratio));
  constexpr int size = 3 * corners_of_element;
  std::vector<double> K(static_cast<std::size_t>(size * size), 0.0);
  const double offset = 0.5 / std::sqrt(3.0);
  for (int point = 0; point < corners_of_element; ++point) {
    std::array<double, 3> at{};
    for (int d = 0; d < 3; ++d) at[d] = 0.5 + (bit(point, d) == 1 ? offset : -offset);
    const auto g = gradients(at);
    for (int j = 0; j < size; ++j) {
      for (int i = 0; i < size; ++i) {
        const auto& u = g[i / 3];
        const auto& v = g[j / 3];
        const int a = i % 3;
        const int b = j % 3;
        double value = lambda * u[a] * v[b] + mu * u[b] * v[a];
        for (int d = 0; d < 3 && a == b; ++d) value += mu * u[d] * v[d];
        K[j * size + i] += value / corners_of_element;
      }
    }
  }
  return K;
}

/// Builder of a problem with `components` unknowns a node. Nodes on the faces that `is_fixed` names have
/// none.
class CubeBuilder {
 public:
  CubeBuilder(const CubeOptions& options, int components, bool all_faces_fixed)
      : options_(options),
        components_(components),
        side_(options.subdomains * options.elements),
        all_faces_fixed_(all_faces_fixed) {
    constexpr std::int64_t most = 600;  // unknowns and elements of such a cube count in 32 bits
    if (options.subdomains < 1 || options.elements < 1 || options.subdomains > most ||
        options.elements > most || side_ > most) {
      throw BadOption("subdomains",
                      "a cube has 1 to " + std::to_string(most) + " elements in each direction, not " +
                          std::to_string(options.subdomains) + " times " + std::to_string(options.elements));
    }
    const std::int64_t subdomains = options.subdomains * options.subdomains * options.subdomains;
    if (!options.coefficients.empty() && std::ssize(options.coefficients) != subdomains) {
      throw BadOption("coefficients", std::to_string(options.coefficients.size()) + " coefficients for " +
                                          std::to_string(subdomains) + " subdomains");
    }
    number_unknowns();
  }

  CubeProblem build(const std::vector<double>& stiffness) {
    problem_.matrices.unknowns = unknowns_;
    problem_.load.assign(static_cast<std::size_t>(unknowns_), 0.0);
    for (std::int64_t z = 0; z < side_; ++z) {
      for (std::int64_t y = 0; y < side_; ++y) {
        for (std::int64_t x = 0; x < side_; ++x) add_element({x, y, z}, stiffness);
      }
    }
    return std::move(problem_);
  }

 private:
  using Place = std::array<std::int64_t, 3>;

  [[nodiscard]] std::int64_t node(const Place& at) const {
    return at[0] + (side_ + 1) * (at[1] + (side_ + 1) * at[2]);
  }
  [[nodiscard]] bool is_fixed(const Place& at) const {
    if (!all_faces_fixed_) return at[0] == 0;
    for (const std::int64_t x : at) {
      if (x == 0 || x == side_) return true;
    }
    return false;
  }

  void number_unknowns() {
    first_unknown_.assign(static_cast<std::size_t>((side_ + 1) * (side_ + 1) * (side_ + 1)), -1);
    for (std::int64_t z = 0; z <= side_; ++z) {
      for (std::int64_t y = 0; y <= side_; ++y) {
        for (std::int64_t x = 0; x <= side_; ++x) {
          if (is_fixed({x, y, z})) continue;
          first_unknown_[node({x, y, z})] = static_cast<std::int32_t>(unknowns_);
          unknowns_ += components_;
        }
      }
    }
  }

  void add_element(const Place& at, const std::vector<double>& stiffness) {
    const double h = 1 / static_cast<double>(side_);
    const std::int64_t subdomain =
        at[0] / options_.elements +
        options_.subdomains * (at[1] / options_.elements + options_.subdomains * (at[2] / options_.elements));
    const double factor = h * (options_.coefficients.empty() ? 1 : options_.coefficients[subdomain]);
    std::vector<int> rows;  // of the stiffness matrix that are not eliminated
    for (int corner = 0; corner < corners_of_element; ++corner) {
      const std::int32_t first =
          first_unknown_[node({at[0] + bit(corner, 0), at[1] + bit(corner, 1), at[2] + bit(corner, 2)})];
      for (int c = 0; c < components_ && first >= 0; ++c) {
        rows.push_back(components_ * corner + c);
        problem_.matrices.indices.push_back(first + c);
        problem_.load[first + c] += h * h * h / corners_of_element;
      }
    }
    if (rows.empty()) return;
    const int size = components_ * corners_of_element;
    for (const int j : rows) {
      for (const int i : rows) problem_.matrices.values.push_back(factor * stiffness[j * size + i]);
    }
    problem_.matrices.begin.push_back(std::ssize(problem_.matrices.indices));
    problem_.subdomain_of_element.push_back(static_cast<std::int32_t>(subdomain));
  }

  const CubeOptions& options_;
  int components_;
  std::int64_t side_;
  bool all_faces_fixed_;
  std::int64_t unknowns_ = 0;
  std::vector<std::int32_t> first_unknown_;  // of each node, or -1
  CubeProblem problem_;
};

}  // namespace

CubeProblem poisson_on_cube(const CubeOptions& options) {
  return CubeBuilder(options, 1, true).build(poisson_stiffness());
}

CubeProblem elasticity_on_cube(const CubeOptions& options) {
  return CubeBuilder(options, 3, false).build(elasticity_stiffness());
}

}  // namespace echelon
