// SPDX-License-Identifier: BSD-3-Clause
/// The guide keeps step with the library: every method has a page with its table of options, every generator
/// is listed with its own, and every status is explained.
#include "support/test_data.hpp"

#include <echelon/generate.hpp>
#include <echelon/report.hpp>
#include <echelon/solver.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace echelon::test {
namespace {

namespace fs = std::filesystem;

fs::path docs() {
  return source_directory() / "docs";
}

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Markdown ends a table's cell at a bar.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string code(const std::string& text) {
  return text.empty() ? text : '`' + cell(text) + '`';
}

/// Table under "Options" on a method's page.
std::string table_of_options(const Method& method) {
  if (method.options.empty()) return "It has no options.\n";
  std::string table = "| option | takes | default | meaning |\n| --- | --- | --- | --- |\n";
  for (const OptionInfo& option : method.options) {
    const std::string takes =
        option.allowed().empty() ? option.type() : option.type() + ": " + code(option.allowed());
    table += "| `" + option.name + "` | " + takes + " | " + code(option.fallback) + " | " +
             cell(option.help) + " |\n";
  }
  return table;
}

TEST(Docs, EveryMethod_PageListsOptions) {
  for (const Method& method : methods()) {
    SCOPED_TRACE(method.name);
    const std::string page = read(docs() / "methods" / (method.name + ".md"));
    EXPECT_TRUE(page.starts_with("# `" + method.name + "`\n")) << "docs/methods/" << method.name << ".md";
    const std::string options = "\n## Options\n\n" + table_of_options(method);
    EXPECT_TRUE(contains(page, options)) << "the page should hold:\n" << options;
  }
}

TEST(Docs, EveryPage_HasMethod) {
  std::set<std::string> names;
  for (const Method& method : methods()) names.insert(method.name);
  for (const auto& entry : fs::directory_iterator(docs() / "methods")) {
    EXPECT_EQ(names.count(entry.path().stem().string()), 1U) << entry.path();
  }
}

TEST(Docs, EveryStudy_IsMarkedInReadme) {
  const std::string page = read(source_directory() / "README.md");
  for (const Method& method : methods()) {
    const std::string cell =
        fmt::format("\n| [`{0}`](docs/methods/{0}.md){1} |", method.name, method.study ? " †" : "");
    EXPECT_TRUE(contains(page, cell)) << "the table should hold:" << cell;
  }
}

TEST(Docs, EveryGenerator_ListedWithOptions) {
  const std::string page = read(docs() / "generate.md");
  std::vector<Generator> all(generators().begin(), generators().end());
  all.insert(all.end(), complex_generators().begin(), complex_generators().end());
  for (const Generator& generator : all) {
    std::string options;
    for (const OptionInfo& option : generator.options) {
      const char* const equals = option.fallback.empty() ? "" : "=";
      options += fmt::format("{}{}", options.empty() ? "" : " ",
                             code(fmt::format("{}{}{}", option.name, equals, option.fallback)));
      const std::string allowed = option.allowed().empty() ? "" : fmt::format(": {}", code(option.allowed()));
      const std::string meaning =
          fmt::format("\n| `{}` | {}{} | {} |\n", option.name, option.type(), allowed, cell(option.help));
      EXPECT_TRUE(contains(page, meaning)) << generator.name << ": the page should hold:" << meaning;
    }
    const std::string line =
        fmt::format("\n| `{}` | {} | {} |\n", generator.name, cell(generator.summary), options);
    EXPECT_TRUE(contains(page, line)) << "the page should hold:" << line;
  }
}

TEST(Docs, EveryStatus_IsExplained) {
  const std::string page = read(docs() / "report.md");
  int explained = 0;
  for (;; ++explained) {
    const std::string name(to_string(static_cast<Status>(explained)));
    if (name == "unknown") break;
    EXPECT_TRUE(contains(page, "\n| `" + name + "` |")) << name;
  }
  EXPECT_GT(explained, 0);
}

}  // namespace
}  // namespace echelon::test
