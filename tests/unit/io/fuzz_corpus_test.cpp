// SPDX-License-Identifier: BSD-3-Clause
// Runs the fuzz targets without libFuzzer on their seeds, on every truncation of a seed and on changed bytes.
#include "fuzz/targets.hpp"
#include "support/test_data.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace echelon {
namespace {

std::vector<std::string> seeds_of(const fuzz::Target& target) {
  std::vector<std::string> seeds;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::source_directory() / "tests/fuzz/corpus" / target.name)) {
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

void run(const fuzz::Target& target, const std::string& text) {
  EXPECT_NO_THROW(target.run(text)) << target.name << ":\n" << text;
}

class FuzzCorpus : public ::testing::TestWithParam<fuzz::Target> {};

TEST_P(FuzzCorpus, Seeds) {
  const auto seeds = seeds_of(GetParam());
  EXPECT_FALSE(seeds.empty());
  for (const std::string& seed : seeds) run(GetParam(), seed);
}

TEST_P(FuzzCorpus, TruncatedSeeds) {
  for (const std::string& seed : seeds_of(GetParam())) {
    for (std::size_t size = 0; size < seed.size(); ++size) run(GetParam(), seed.substr(0, size));
  }
}

TEST_P(FuzzCorpus, ChangedSeeds) {
  // One change at a time: two could make a valid number of rows that takes long to process.
  constexpr std::string_view others = " \n%-.e0:x\xff";
  std::mt19937_64 random(1);
  for (const std::string& seed : seeds_of(GetParam())) {
    for (std::size_t at = 0; at < seed.size(); ++at) {
      std::string text = seed;
      text[at] = others[random() % others.size()];
      run(GetParam(), text);
      run(GetParam(), seed.substr(0, at) + seed.substr(at + 1));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzCorpus, ::testing::ValuesIn(fuzz::targets),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

}  // namespace
}  // namespace echelon
