// SPDX-License-Identifier: BSD-3-Clause
/// The table of generators: names, options, sizes, and the promise of the same bits everywhere.
#include <echelon/error.hpp>
#include <echelon/generate.hpp>

#include <gtest/gtest.h>
#include <lapacke.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace echelon::test {
namespace {

/// FNV-1a over the shape, the pattern and the values' bits.
class Checksum {
 public:
  template <class N>
  void add(const N& number) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof number);
    for (int byte = 0; byte < 8; ++byte) {
      value_ = (value_ ^ ((bits >> (8 * byte)) & 0xff)) * 0x100000001b3;
    }
  }
  template <class T>
  void add_all(const T* begin, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) add(begin[i]);
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

template <class T>
void add(Checksum& sum, const Csr<T>& a) {
  sum.add_all(a.row_offsets().data(), a.row_offsets().size());
  sum.add_all(a.column_indices().data(), a.nonzeros());
  sum.add_all(a.values().data(), a.nonzeros());
}
template <class T>
void add(Checksum& sum, const Dense<T>& a) {
  sum.add_all(a.data(), a.rows() * a.columns());
}

template <class T>
std::uint64_t checksum(const Matrix<T>& matrix) {
  Checksum sum;
  const MatrixRef<T> A(matrix);
  sum.add(A.rows());
  sum.add(A.columns());
  std::visit([&](const auto& held) { add(sum, held); }, matrix);
  return sum.value();
}

/// Options for about the given number of rows, if the family has such an option; a multiple of 4 if needed.
Options sized(const Generator& generator, std::int64_t rows) {
  if (generator.size.empty()) return {};
  if (generator.name == "hadamard") return {{"n", 64}};
  if (generator.name == "published-triangle") return {{"rows", std::max<std::int64_t>(rows, 1000)}};
  Options options = generator.for_rows(rows);
  if (generator.name == "inconsistent" || generator.name == "known-rank") options.set("rank", 3);
  return options;
}

/// Large enough for the work to be shared between threads.
Options large(const Generator& generator) {
  return sized(generator, generator.sparse ? 12000 : 200);
}

Options random_sparse_is_not_too_dense(const Generator& generator, Options options) {
  for (const OptionInfo& option : generator.options) {
    if (option.name == "density") options.set("density", 1e-3);
  }
  if (generator.name == "complete") options.set("n", 200);
  return options;
}

template <class T>
void expect_sound(const Csr<T>& a) {
  EXPECT_NO_THROW(Csr<T>(a.rows(), a.columns(), a.row_offsets(), a.column_indices(), a.values()));
  for (std::int64_t k = 0; k < a.nonzeros(); ++k) ASSERT_TRUE(std::isfinite(a.values()[k]));
}
template <class T>
void expect_sound(const Dense<T>& a) {
  for (std::int64_t k = 0; k < a.rows() * a.columns(); ++k) ASSERT_TRUE(std::isfinite(a[k]));
}

void expect_rounded(const Csr<float>& a, const Csr<double>& b) {
  ASSERT_EQ(a.row_offsets().to_vector(), b.row_offsets().to_vector());
  ASSERT_EQ(a.column_indices().to_vector(), b.column_indices().to_vector());
  for (std::int64_t k = 0; k < b.nonzeros(); ++k) ASSERT_EQ(a.values()[k], static_cast<float>(b.values()[k]));
}
void expect_rounded(const Dense<float>& a, const Dense<double>& b) {
  ASSERT_EQ(a.rows(), b.rows());
  ASSERT_EQ(a.columns(), b.columns());
  for (std::int64_t k = 0; k < b.rows() * b.columns(); ++k) ASSERT_EQ(a[k], static_cast<float>(b[k]));
}

TEST(Generate, Names_UniqueAndReadable) {
  std::set<std::string> names;
  for (const Generator& generator : generators()) {
    EXPECT_TRUE(names.insert(generator.name).second) << generator.name;
    EXPECT_EQ(generator.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos);
    EXPECT_FALSE(generator.summary.empty());
    EXPECT_EQ(&find_generator(generator.name), &generator);
    std::set<std::string> options;
    for (const OptionInfo& option : generator.options) {
      EXPECT_TRUE(options.insert(option.name).second) << generator.name << ' ' << option.name;
      EXPECT_FALSE(option.help.empty()) << generator.name << ' ' << option.name;
    }
    for (const std::string& option : generator.size) EXPECT_EQ(options.count(option), 1U) << generator.name;
  }
}

TEST(Generate, EveryFamily_ValidAndFloatIsRoundedDouble) {
  for (const Generator& generator : generators()) {
    SCOPED_TRACE(generator.name);
    // Powers and binomials of order 20 still fit a float.
    const Options options = sized(generator, generator.sparse ? 200 : 20);
    const Matrix<double> a = make_matrix<double>(generator.name, options);
    EXPECT_EQ(std::holds_alternative<Csr<double>>(a), generator.sparse);
    std::visit([](const auto& held) { expect_sound(held); }, a);
    if (generator.name == "lapack-check") continue;
    const Matrix<float> b = make_matrix<float>(generator.name, options);
    if (generator.sparse) {
      expect_rounded(std::get<Csr<float>>(b), std::get<Csr<double>>(a));
    } else {
      expect_rounded(std::get<Dense<float>>(b), std::get<Dense<double>>(a));
    }
  }
}

TEST(Generate, ThreadCounts_SameBits) {
  const int usual = omp_get_max_threads();
  for (const Generator& generator : generators()) {
    SCOPED_TRACE(generator.name);
    const Options options = random_sparse_is_not_too_dense(generator, large(generator));
    std::set<std::uint64_t> sums;
    for (const int threads : {1, 2, 5}) {
      omp_set_num_threads(threads);
      sums.insert(checksum(make_matrix<double>(generator.name, options)));
    }
    EXPECT_EQ(sums.size(), 1U);
  }
  omp_set_num_threads(usual);
}

/// Loops over the defaults and over each value of each text option.
std::uint64_t checksum_of_variants(const Generator& generator) {
  const Options basic = sized(generator, generator.sparse ? 500 : 32);
  Checksum sum;
  sum.add(checksum(make_matrix<double>(generator.name, basic)));
  for (const OptionInfo& option : generator.options) {
    for (const std::string& word : option.words) {
      Options options = basic;
      options.set(option.name, word);
      sum.add(checksum(make_matrix<double>(generator.name, options)));
    }
  }
  return sum.value();
}

/// Checksums from one machine: other tests check the values, this one that they are the same here. When a
/// family is changed on purpose, its number changes, and CHANGELOG.md says so.
const std::map<std::string, std::uint64_t> known_checksums = {
    {"poisson-2d", 0x601a1c98cddcfaf5},
    {"poisson-3d", 0xca9aecb0526233c8},
    {"anisotropic-2d", 0xe76735e06ad2c51e},
    {"anisotropic-3d", 0xca8cfcd9635dc79f},
    {"jumps-2d", 0x77128458adcfcbba},
    {"jumps-3d", 0x9187a7608bceef77},
    {"convection-diffusion-2d", 0x0aa29fdf291071f1},
    {"convection-diffusion-3d", 0x9c8949394bf43f96},
    {"elasticity-2d", 0xd05a01bbfa447f50},
    {"spe10-like", 0x3059eeeee6e1d1d8},
    {"random-dense", 0xeed180e06636604c},
    {"random-sparse", 0x05eccc7e4c076127},
    {"random-spd", 0x1c35adc70eed15e8},
    {"diagonally-dominant", 0x1592db1850ec4f1d},
    {"tridiagonal", 0x37001714a059eed8},
    {"banded", 0x9b1473f710844a94},
    {"published-triangle", 0x2696696db39b90b0},
    {"path", 0x2b279f9bdc4d4a70},
    {"ring", 0x50d6eb63e5303737},
    {"star", 0xaa7014604e26eea7},
    {"complete", 0x115ba8f43979fb4c},
    {"complete-binary-tree", 0x431229bdfc358978},
    {"grid-2d", 0xe2d2216385567c64},
    {"grid-3d", 0x8fc96b6053e981fe},
    {"sachdeva-star", 0x4f32722d7a7b54d0},
    {"barbell", 0x0e046fb094fc12c5},
    {"random-tree", 0x08f80b4627845da6},
    {"grown", 0x9c0014b1e0b7828d},
    {"barabasi-albert", 0xc6ef647cdc43858c},
    {"erdos-renyi", 0x65a759c1f991c7bf},
    {"random-regular", 0x14116a55d8da9bbd},
    {"generalized-ring", 0x2c4f8e7cfe8692c0},
    {"rmat", 0xf7f16e4d69120638},
    {"chimera", 0x036793ee99968055},
    {"hilbert", 0x1b16df42c8e1761d},
    {"lotkin", 0xe897ab15279a2e00},
    {"cauchy", 0x5db8525599fea88a},
    {"minij", 0xf6aa58d969c1b2b1},
    {"moler", 0x6c3dafad335b0157},
    {"triw", 0x43f85a1937e8a4a5},
    {"frank", 0x9e6b4d76bdb23d0c},
    {"kms", 0x3795336107e57c80},
    {"pei", 0x074eccaffd1b186c},
    {"lehmer", 0x4bad85aad9a1c698},
    {"pascal", 0xe76623cdc8127540},
    {"zielke-ns", 0x801fd864874f90b9},
    {"circulant", 0xd326dc14734517c4},
    {"fiedler", 0xcddd3250140e5967},
    {"parter", 0xa8f2521b579c87d3},
    {"ris", 0xdf89409e331dd6b8},
    {"orthogonal", 0xfbfd48154d4d2375},
    {"chow", 0xaf7e507acd79cf4c},
    {"clement", 0xdb56500ec3f6f529},
    {"wilkinson", 0x0b3583cc441e43b2},
    {"gear", 0x621083bd9c2c1f25},
    {"legendre", 0xf87c07023834902e},
    {"gcd", 0xda7c31518a6a5f0b},
    {"redheffer", 0x02e29fcca8fb0555},
    {"riemann", 0xe37421e6460d536d},
    {"gfpp", 0xcd3dcba1f857479d},
    {"gepp-growth", 0x3670f856c270973c},
    {"foster", 0xf4b3d680af9c5163},
    {"wright", 0x5701fa8c3ed4288a},
    {"kahan", 0x650bc4263189046c},
    {"extended-kahan", 0xdcf8d9ddac786edd},
    {"gks", 0x9a57eb208526b190},
    {"lauchli", 0x34ea67d925272646},
    {"chebyshev-derivative", 0xc41cf58ddb03bfbe},
    {"demmel", 0xc53d39e88820c0b0},
    {"vandermonde", 0xfbb7c8605d6bb1e5},
    {"hadamard", 0x02869a0fcf0defc7},
    {"magic", 0xa0f22dbf77a056b8},
    {"druinsky-toledo", 0x47b3bef5765fc97a},
    {"svd", 0xcb2c22d4dab2940c},
    {"symmetric", 0xabcd3a9b2db79aee},
    {"lapack-check", 0x0d53219de667e179},
    {"random-integer", 0x050328b9a28083d1},
    {"known-rank", 0xa4fbc07dd23f1800},
    {"inconsistent", 0x59bb387afd132534},
};

TEST(Generate, KnownChecksums) {
  for (const Generator& generator : generators()) {
    const auto known = known_checksums.find(generator.name);
    ASSERT_NE(known, known_checksums.end()) << generator.name;
    EXPECT_EQ(checksum_of_variants(generator), known->second) << generator.name;
  }
}

TEST(Generate, Seeds_RepeatAndDiffer) {
  for (const Generator& generator : generators()) {
    if (!generator.is_random()) continue;
    SCOPED_TRACE(generator.name);
    Options options = sized(generator, generator.sparse ? 400 : 20);
    if (generator.family == "graphs") options.set("weights", "uniform");
    if (generator.name == "tridiagonal") options.set("kind", "random");
    if (generator.name.starts_with("jumps")) options.set("pattern", "random");
    const auto made = [&](std::int64_t seed) {
      Options with_seed = options;
      with_seed.set("seed", seed);
      return checksum(make_matrix<double>(generator.name, with_seed));
    };
    EXPECT_EQ(made(7), made(7));
    EXPECT_NE(made(7), made(8));
    EXPECT_NE(made(7), made(7 + (std::int64_t{1} << 40)));
  }
}

TEST(Generate, SmallestSizes) {
  for (const Generator& generator : generators()) {
    SCOPED_TRACE(generator.name);
    for (const std::int64_t side : {0, 1, 2, 3}) {
      Options options;
      for (const std::string& name : generator.size) options.set(name, side);
      if (generator.size.empty()) continue;
      try {
        const Matrix<double> matrix = make_matrix<double>(generator.name, options);
        std::visit([](const auto& held) { expect_sound(held); }, matrix);
      } catch (const BadOption&) {  // the family does not have that size
        EXPECT_TRUE(std::set<std::string>({"published-triangle", "random-regular", "sachdeva-star", "wright",
                                           "hadamard", "magic", "known-rank", "inconsistent"})
                        .contains(generator.name))
            << side;
      }
    }
  }
}

TEST(Generate, Alias_FindsTheGeneratorButIsNotListed) {
  EXPECT_EQ(find_generator("gauss-seidel-seed").name, "published-triangle");
  for (const Generator& generator : generators()) {
    EXPECT_NE(generator.name, "gauss-seidel-seed");
    for (const std::string& alias : generator.aliases) EXPECT_EQ(&find_generator(alias), &generator);
  }
}

TEST(Generate, PascalTooLarge_LargestOrderNamed) {
  const auto expect_largest = [](auto zero, std::int64_t largest) {
    using T = decltype(zero);
    const auto last = std::get<Dense<T>>(make_matrix<T>("pascal", {{"n", largest}}));
    EXPECT_TRUE(std::isfinite(last(largest - 1, largest - 1)));
    try {
      static_cast<void>(make_matrix<T>("pascal", {{"n", largest + 1}}));
      FAIL();
    } catch (const BadOption& error) {
      EXPECT_NE(std::string(error.what()).find("largest order is " + std::to_string(largest)),
                std::string::npos)
          << error.what();
    }
  };
  expect_largest(float{}, 66);    // (130 over 65) = 9.5e37
  expect_largest(double{}, 515);  // (1028 over 514) = 7.2e307
}

TEST(Generate, ElementsThatOverflow_InvalidMatrix) {
  EXPECT_THROW(static_cast<void>(make_matrix<double>("chow", {{"n", 20}, {"alpha", 1e30}})), InvalidMatrix);
  EXPECT_THROW(static_cast<void>(make_matrix<float>("svd", {{"n", 5}, {"scale", 1e100}})), InvalidMatrix);
  EXPECT_THROW(static_cast<void>(make_matrix<float>("path", {{"weights", "log-uniform"}, {"decades", 600}})),
               InvalidMatrix);
}

/// Limits of a number, moved inwards where they are excluded.
std::vector<double> limits_of(const OptionInfo& option) {
  const Range& range = option.range;
  std::vector<double> limits;
  const double step = option.kind == OptionKind::integer ? 1 : 1e-300;
  if (std::isfinite(range.low)) limits.push_back(range.low + (range.open_low ? step : 0));
  if (std::isfinite(range.high)) limits.push_back(range.open_high ? range.high * (1 - 1e-12) : range.high);
  return limits;
}

template <class T>
void expect_finite_or_refused(const Generator& generator, const Options& options) {
  try {
    const Matrix<T> matrix = make_matrix<T>(generator.name, options);
    std::visit([](const auto& held) { expect_sound(held); }, matrix);
  } catch (const InvalidMatrix&) {
  } catch (const BadOption&) {
  }
}

TEST(Generate, OptionsAtTheirLimits_FiniteOrRefused) {
  for (const Generator& generator : generators()) {
    const Options basic = sized(generator, generator.sparse ? 60 : 12);
    for (const OptionInfo& option : generator.options) {
      if (std::find(generator.size.begin(), generator.size.end(), option.name) != generator.size.end())
        continue;
      for (const double limit : limits_of(option)) {
        constexpr double costly = 1e6;  // vertices, edges and diagonals are sizes as well
        if (option.kind == OptionKind::integer && limit > costly) continue;
        SCOPED_TRACE(generator.name + ": " + option.name + " = " + std::to_string(limit));
        Options options = basic;
        if (option.kind == OptionKind::integer) {
          options.set(option.name, static_cast<std::int64_t>(limit));
        } else {
          options.set(option.name, limit);
        }
        if (generator.name == "rmat" && option.name == "scale" && limit > 10) continue;
        expect_finite_or_refused<float>(generator, options);
        expect_finite_or_refused<double>(generator, options);
      }
    }
  }
}

/// A square matrix of which the summary names properties.
class Properties {
 public:
  explicit Properties(const Dense<double>& a) : a_(a), n_(a.rows()) {}

  [[nodiscard]] bool symmetric() const {
    return all([this](std::int64_t i, std::int64_t j) { return a_(i, j) == a_(j, i); });
  }
  [[nodiscard]] bool positive_definite() const {
    Dense<double> factor = a_;
    const auto n = static_cast<lapack_int>(n_);
    return symmetric() && LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', n, factor.data(), n) == 0;
  }
  /// No elements farther than `below` and `above` diagonals from the main one.
  [[nodiscard]] bool banded(std::int64_t below, std::int64_t above) const {
    return all(
        [&](std::int64_t i, std::int64_t j) { return (i - j <= below && j - i <= above) || a_(i, j) == 0; });
  }
  [[nodiscard]] bool strictly_dominant() const {
    for (std::int64_t i = 0; i < n_; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < n_; ++j) sum += j == i ? 0 : std::abs(a_(i, j));
      if (!(std::abs(a_(i, i)) > sum)) return false;
    }
    return true;
  }
  [[nodiscard]] double determinant() const {
    Dense<double> factor = a_;
    const auto n = static_cast<lapack_int>(n_);
    std::vector<lapack_int> pivots(static_cast<std::size_t>(n_));
    LAPACKE_dgetrf(LAPACK_COL_MAJOR, n, n, factor.data(), n, pivots.data());
    double product = 1;
    for (std::int64_t i = 0; i < n_; ++i) {
      product *= pivots[static_cast<std::size_t>(i)] == i + 1 ? factor(i, i) : -factor(i, i);
    }
    return product;
  }
  /// Smallest over largest singular value.
  [[nodiscard]] double reciprocal_condition() const {
    Dense<double> work = a_;
    const auto n = static_cast<lapack_int>(n_);
    std::vector<double> values(static_cast<std::size_t>(n_));
    double none = 0;
    LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'N', n, n, work.data(), n, values.data(), &none, 1, &none, 1);
    return values.back() / values.front();
  }

 private:
  template <class Holds>
  [[nodiscard]] bool all(const Holds& holds) const {
    for (std::int64_t j = 0; j < n_; ++j) {
      for (std::int64_t i = 0; i < n_; ++i) {
        if (!holds(i, j)) return false;
      }
    }
    return true;
  }

  const Dense<double>& a_;
  std::int64_t n_;
};

TEST(Generate, PropertiesInSummary_Hold) {
  std::map<std::string, int> checked;
  for (const Generator& generator : generators()) {
    SCOPED_TRACE(generator.name);
    if (generator.name == "published-triangle") continue;  // has a test of its own
    Options options = sized(generator, generator.sparse ? 60 : 8);
    if (generator.name == "spe10-like") options.set("boundary", "open");
    const Matrix<double> made = make_matrix<double>(generator.name, options);
    const Dense<double> a = to_dense(MatrixRef<double>(made));
    const Properties matrix(a);
    const std::string& summary = generator.summary;
    const auto says = [&](const std::string& words) {
      const bool found = summary.find(words) != std::string::npos;
      checked[words] += found ? 1 : 0;
      return found;
    };
    if (says("SPD") || says("positive definite")) {
      EXPECT_TRUE(matrix.positive_definite());
    }
    if (says("unsymmetric")) {
      EXPECT_FALSE(matrix.symmetric());
    } else if (says("symmetric")) {
      EXPECT_TRUE(matrix.symmetric());
    }
    if (says("upper triangular")) {
      EXPECT_TRUE(matrix.banded(0, a.rows()));
    }
    if (summary.starts_with("tridiagonal")) {
      EXPECT_TRUE(matrix.banded(1, 1));
    }
    if (says("diagonally dominant")) {
      EXPECT_TRUE(matrix.strictly_dominant());
    }
    if (says("determinant 1")) {
      EXPECT_NEAR(matrix.determinant(), 1, 1e-6);
    }
    if (summary.ends_with("; singular")) {
      EXPECT_LT(matrix.reciprocal_condition(), 1e-14);
    }
    if (generator.family == "graphs") {  // Laplacians by default
      EXPECT_TRUE(matrix.symmetric());
      EXPECT_LT(matrix.reciprocal_condition(), 1e-12);
    }
  }
  for (const auto& [words, times] : checked) EXPECT_GT(times, 0) << words;
}

TEST(Generate, ForRows) {
  const auto rows = [](const std::string& name, std::int64_t wanted) {
    return MatrixRef<double>(make_matrix<double>(name, find_generator(name).for_rows(wanted))).rows();
  };
  EXPECT_EQ(rows("hilbert", 37), 37);
  EXPECT_EQ(rows("poisson-2d", 100), 100);
  EXPECT_EQ(rows("poisson-2d", 120), 100);
  EXPECT_EQ(rows("poisson-3d", 1000), 1000);
  EXPECT_EQ(rows("poisson-3d", 999), 729);
  EXPECT_EQ(rows("elasticity-2d", 2 * 10 * 10), 2 * 10 * 11);
  EXPECT_EQ(rows("druinsky-toledo", 60), 60);
  EXPECT_EQ(rows("published-triangle", 1234), 1234);
  EXPECT_THROW(static_cast<void>(rows("rmat", 100)), BadOption);
}

TEST(Generate, UnknownNames_NearestSuggested) {
  const auto suggestion = [](const std::string& name, const Options& options) {
    try {
      static_cast<void>(make_matrix<double>(name, options));
    } catch (const BadOption& e) {
      return e.did_you_mean();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(suggestion("poison-2d", {}), "poisson-2d");
  EXPECT_EQ(suggestion("hilbret", {}), "hilbert");
  EXPECT_EQ(suggestion("poisson-2d", {{"nz", 3}}), "nx");
  EXPECT_EQ(suggestion("chimera", {{"wieghts", "unit"}}), "weights");
  EXPECT_EQ(suggestion("chimera", {{"weights", "uniformly"}}), "uniform");
}

TEST(Generate, WrongValues_BadOption) {
  const auto refused = [](const std::string& name, const Options& options) {
    EXPECT_THROW(static_cast<void>(make_matrix<double>(name, options)), BadOption) << name;
  };
  refused("poisson-2d", {{"nx", -1}});
  refused("poisson-2d", {{"nx", "many"}});
  refused("poisson-2d", {{"nx", 2147483648}});
  refused("poisson-2d", {{"points", 7}});
  refused("random-sparse", {{"density", 1.5}});
  refused("random-spd", {{"dominance", 1}});
  refused("published-triangle", {{"rows", 999}});
  refused("random-regular", {{"n", 5}, {"k", 3}});
  refused("random-regular", {{"n", 4}, {"k", 4}});
  refused("rmat", {{"a", 0.9}, {"b", 0.2}});
  refused("rmat", {{"scale", 31}});
  refused("magic", {{"n", 6}});
  refused("hadamard", {{"n", 12}});
  refused("extended-kahan", {{"l", 3}});
  refused("known-rank", {{"rank", 101}});
  refused("random-integer", {{"low", 3}, {"high", 2}});
  EXPECT_THROW(static_cast<void>(generate::poisson_2d<double>(3, 3, 7)), BadOption);
  EXPECT_THROW(static_cast<void>(generate::random_sparse<double>(3, 3, -0.1)), BadOption);
}

TEST(Generate, TooManyRows_InvalidMatrix) {
  EXPECT_THROW(static_cast<void>(generate::poisson_2d<double>(65536, 65536)), InvalidMatrix);
  EXPECT_THROW(static_cast<void>(generate::poisson_3d<float>(2000, 2000, 2000)), InvalidMatrix);
  EXPECT_THROW(static_cast<void>(generate::poisson_2d<double>(-1, 5)), InvalidMatrix);
  EXPECT_THROW(static_cast<void>(generate::tridiagonal<double>(std::int64_t{1} << 31, 1, 2, 1)),
               InvalidMatrix);
  EXPECT_THROW(
      static_cast<void>(make_matrix<double>("sachdeva-star", {{"clique", 65536}, {"copies", 65536}})),
      InvalidMatrix);
  EXPECT_THROW(static_cast<void>(make_matrix<double>("elasticity-2d", {{"nx", 32768}, {"ny", 32768}})),
               InvalidMatrix);
  EXPECT_EQ(generate::poisson_3d<double>(0, 2000000000, 2000000000).rows(), 0);
}

}  // namespace
}  // namespace echelon::test
