// SPDX-License-Identifier: BSD-3-Clause
#include "options/parse.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace echelon {
namespace {

enum class Colour { red, blue };
constexpr std::array<EnumWord<Colour>, 2> words_of(Colour) {
  return {{{Colour::red, "red"}, {Colour::blue, "blue"}}};
}

struct SampleOptions {
  Stop stop = {};
  bool flag = false;
  std::int64_t count = 3;
  double weight = 0.5;
  std::string kind = "plain";
  Colour colour = Colour::red;
  std::string preconditioner = "none";
  Options preconditioner_options = {};

  static std::vector<Option<SampleOptions>> table() {
    using O = SampleOptions;
    return with_stop_options(with_preconditioner_options<O>({
        {"flag", +[](O& o) -> bool& { return o.flag; }, "a flag"},
        {"count", +[](O& o) -> std::int64_t& { return o.count; }, "a count", {1, 10}},
        {"weight", +[](O& o) -> double& { return o.weight; }, "a weight", {0, 1, true, false}},
        {"kind", +[](O& o) -> std::string& { return o.kind; }, "a kind", {}, {"plain", "fancy"}},
        {"colour", enum_field<&O::colour>(), "a colour"},
    }));
  }
};

SampleOptions parse(const Options& options) {
  return parse_options<SampleOptions>("sample", options);
}

/// The message of the BadOption that `options` cause, which must speak of `path`.
std::string refusal(const Options& options, const std::string& path) {
  try {
    parse(options);
  } catch (const BadOption& error) {
    EXPECT_EQ(error.path(), path);
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return {};
}

TEST(Options, NoOptions_DefaultsStay) {
  const SampleOptions o = parse({});

  EXPECT_FALSE(o.flag);
  EXPECT_EQ(o.count, 3);
  EXPECT_EQ(o.kind, "plain");
  EXPECT_FALSE(o.stop.rtol.has_value());
}

TEST(Options, TypedOrTextValues_AreRead) {
  for (const Options& options :
       {Options{{"flag", true}, {"count", 7}, {"weight", 0.25}, {"kind", "fancy"}, {"rtol", 1e-3}},
        Options{{"flag", "on"}, {"count", "7"}, {"weight", "0.25"}, {"kind", "fancy"}, {"rtol", "1e-3"}}}) {
    const SampleOptions o = parse(options);

    EXPECT_TRUE(o.flag);
    EXPECT_EQ(o.count, 7);
    EXPECT_EQ(o.weight, 0.25);
    EXPECT_EQ(o.kind, "fancy");
    EXPECT_EQ(o.stop.rtol, 1e-3);
  }
}

TEST(Options, TwoValues_LaterWins) {
  EXPECT_EQ(parse({{"count", 4}, {"count", 5}}).count, 5);
}

TEST(Options, Integer_IsReadAsNumber) {
  EXPECT_EQ(parse({{"weight", 1}}).weight, 1.0);
}

TEST(Options, Bounds_InclusiveOrNot) {
  EXPECT_EQ(parse({{"count", 1}}).count, 1);
  EXPECT_EQ(parse({{"weight", 1.0}}).weight, 1.0);
  EXPECT_NE(refusal({{"count", 0}}, "count").find("1 <= x <= 10"), std::string::npos);
  EXPECT_NE(refusal({{"count", 11}}, "count").find("1 <= x <= 10"), std::string::npos);
  EXPECT_NE(refusal({{"weight", 0.0}}, "weight").find("0 < x <= 1"), std::string::npos);
}

TEST(Options, WrongValue_ErrorNamesWhatFits) {
  EXPECT_NE(refusal({{"flag", "maybe"}}, "flag").find("true or false"), std::string::npos);
  EXPECT_NE(refusal({{"count", "seven"}}, "count").find("an integer"), std::string::npos);
  EXPECT_NE(refusal({{"count", "7x"}}, "count").find("7x"), std::string::npos);
  EXPECT_NE(refusal({{"count", 2.5}}, "count").find("2.5"), std::string::npos);
  EXPECT_NE(refusal({{"weight", "nan"}}, "weight").find("a number"), std::string::npos);
  EXPECT_NE(refusal({{"rtol", "-1"}}, "rtol").find("0 <= x <= 1"), std::string::npos);
  EXPECT_NE(refusal({{"kind", "fency"}}, "kind").find("did you mean 'fancy'?"), std::string::npos);
}

TEST(Options, Enumerations_AreReadByTheirWords) {
  EXPECT_EQ(parse({{"colour", "blue"}}).colour, Colour::blue);
  EXPECT_NE(refusal({{"colour", "bleu"}}, "colour").find("red or blue"), std::string::npos);
  EXPECT_EQ(to_string(Colour::blue), "blue");
  EXPECT_EQ(from_word<Colour>("green"), std::nullopt);
}

TEST(Options, StructAndNames_DescribeTheSame) {
  SampleOptions o;
  o.flag = true;
  o.count = 7;
  o.weight = 1.0 / 3.0;
  o.kind = "fancy";
  o.colour = Colour::blue;
  o.stop.rtol = 1e-3;
  o.preconditioner = "jacobi";
  o.preconditioner_options = {{"weight", 0.7}};
  const SampleOptions back = parse(to_options(o));
  EXPECT_TRUE(back.flag);
  EXPECT_EQ(back.count, 7);
  EXPECT_EQ(back.weight, 1.0 / 3.0);
  EXPECT_EQ(back.kind, "fancy");
  EXPECT_EQ(back.colour, Colour::blue);
  EXPECT_EQ(back.stop.rtol, 1e-3);
  EXPECT_EQ(back.preconditioner, "jacobi");
  EXPECT_EQ(changed_options(back), changed_options(o));
}

TEST(Options, Structs_AreCheckedAsTheTableSays) {
  EXPECT_THROW(Cg<double>({}, {.stop = {.rtol = 2}}), BadOption);
  EXPECT_THROW(Cg<double>({}, {.stop = {.rtol = -1}}), BadOption);
  EXPECT_THROW(Cg<double>({}, {.stop = {.max_iterations = -1}}), BadOption);
  EXPECT_THROW(Gmres<double>({}, {.restart = -5}), BadOption);
  EXPECT_THROW(Gmres<double>({}, {.preconditioner = "jacoby"}), BadOption);
  EXPECT_THROW(Sor<double>({}, {.omega = 2}), BadOption);
  EXPECT_THROW(Sor<double>({}, {.sweep = SweepKind::symmetric}), BadOption);
  EXPECT_THROW(Jacobi<double>({}, {.weight = std::numeric_limits<double>::quiet_NaN()}), BadOption);
  EXPECT_THROW((void)make_solver<float>(Device(), LapackLuOptions{.refine = 11}), BadOption);
  EXPECT_EQ(Gmres<double>({}, {.restart = 5}).describe(), "gmres (restart=5)");
}

TEST(Options, UnknownName_SuggestsNearest) {
  EXPECT_NE(refusal({{"wieght", 0.5}}, "wieght").find("did you mean 'weight'?"), std::string::npos);
}

TEST(Options, DottedNames_ReachNestedSolver) {
  const SampleOptions o = parse({{"preconditioner", "jacobi"}, {"preconditioner.weight", 0.7}});

  ASSERT_EQ(o.preconditioner_options.entries().size(), 1U);
  EXPECT_EQ(o.preconditioner_options.entries().front().first, "weight");
  EXPECT_EQ(o.preconditioner, "jacobi");
}

TEST(Options, ChangedOptions_AreDescribed) {
  SampleOptions o;
  EXPECT_EQ(changed_options(o), "");
  o.count = 5;
  o.stop.rtol = 0.001;
  EXPECT_EQ(changed_options(o), "count=5, rtol=0.001");
}

TEST(Options, Table_Description) {
  const std::vector<OptionInfo> infos = describe_options<SampleOptions>();

  ASSERT_EQ(infos.size(), 11U);
  EXPECT_EQ(infos[1].name, "count");
  EXPECT_EQ(infos[1].kind, OptionKind::integer);
  EXPECT_EQ(infos[1].type(), "integer");
  EXPECT_EQ(infos[1].fallback, "3");
  EXPECT_EQ(infos[1].allowed(), "1 <= x <= 10");
  EXPECT_EQ(infos[3].allowed(), "plain, fancy");
  EXPECT_EQ(infos[4].kind, OptionKind::word);
  EXPECT_EQ(infos[4].type(), "text");
  EXPECT_EQ(infos[4].fallback, "red");
  EXPECT_EQ(infos[4].allowed(), "red, blue");
}

TEST(Options, Table_StructuredValues) {
  const std::vector<OptionInfo> infos = describe_options<SampleOptions>();
  const auto of = [&](const std::string& name) {
    return *std::find_if(infos.begin(), infos.end(),
                         [&](const OptionInfo& info) { return info.name == name; });
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(of("flag").kind, OptionKind::boolean);
  EXPECT_EQ(of("count").range.low, 1);
  EXPECT_EQ(of("count").range.high, 10);
  EXPECT_EQ(of("weight").kind, OptionKind::number);
  EXPECT_TRUE(of("weight").range.open_low);
  EXPECT_FALSE(of("weight").range.open_high);
  EXPECT_EQ(of("weight").allowed(), "0 < x <= 1");
  EXPECT_EQ(of("kind").kind, OptionKind::word);
  EXPECT_EQ(of("kind").words, (std::vector<std::string>{"plain", "fancy"}));
  EXPECT_EQ(of("colour").words, (std::vector<std::string>{"red", "blue"}));
  EXPECT_EQ(of("preconditioner").kind, OptionKind::method);
  EXPECT_EQ(of("preconditioner").type(), "text");
  EXPECT_EQ(of("preconditioner").allowed(), "");
  EXPECT_EQ(of("preconditioner.NAME").kind, OptionKind::nested);
  EXPECT_EQ(of("preconditioner.NAME").type(), "any");
  EXPECT_EQ(of("atol").range.low, 0);
  EXPECT_EQ(of("atol").range.high, infinity);
  EXPECT_EQ(of("atol").allowed(), "x >= 0");
}

/// The path of the BadOption that f throws.
template <class F>
std::string path_of_refusal(const F& f) {
  try {
    f();
  } catch (const BadOption& error) {
    EXPECT_EQ(
        std::string(error.what()).find("did you mean"),
        error.did_you_mean().empty() ? std::string::npos : std::string(error.what()).rfind("did you mean"))
        << "said once: " << error.what();
    return error.path();
  }
  ADD_FAILURE() << "accepted";
  return {};
}

TEST(Registry, NestedOption_PathHasPrefix) {
  const Method& cg = find_method("cg");
  const Options unknown = {{"preconditioner", "jacobi"}, {"preconditioner.wieght", 1.0}};
  const Options out_of_range = {{"preconditioner", "amg"}, {"preconditioner.max_levels", -1}};
  EXPECT_EQ(path_of_refusal([&] { cg.check_options(Device(), unknown); }), "preconditioner.wieght");
  EXPECT_EQ(path_of_refusal([&] { (void)make_solver<double>("cg", Device(), unknown); }),
            "preconditioner.wieght");
  EXPECT_EQ(path_of_refusal([&] { cg.check_options(Device(), out_of_range); }), "preconditioner.max_levels");
  EXPECT_EQ(path_of_refusal([&] {
              cg.check_options(Device(), {{"preconditioner", "jacbi"}});
            }),
            "preconditioner");
  EXPECT_EQ(path_of_refusal([&] {
              cg.check_options(Device(), {{"preconditioner", "bicgstab"}});
            }),
            "preconditioner");
}

TEST(Registry, PreconditionerOption_ListsWhatItTakes) {
  for (const Method& method : methods()) {
    for (const OptionInfo& option : method.options) {
      if (option.kind != OptionKind::method) continue;
      SCOPED_TRACE(method.name);
      std::vector<std::string> expected = {"none"};
      for (const Method& other : methods()) {
        if (other.usable_as_preconditioner) expected.push_back(other.name);
      }
      EXPECT_EQ(option.words, expected);
      EXPECT_EQ(option.allowed(), "") << "too many for a table";
    }
  }
}

/// The words of an option are accepted, another one is refused; bounds that belong to it are accepted.
TEST(Registry, EveryOption_TakesItsWordsAndBounds) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const Method& method : methods()) {
    if (!method.serial) continue;
    for (const OptionInfo& option : method.options) {
      SCOPED_TRACE(method.name + " " + option.name);
      const auto accepts = [&](const OptionValue& value) {
        try {
          method.check_options(Device::serial(), {{option.name, value}});
        } catch (const BadOption& error) {
          return error.path() != option.name;
        } catch (const NotBuilt&) {
          return true;  // a preconditioner of other devices
        }
        return true;
      };
      for (const std::string& word : option.words) EXPECT_TRUE(accepts(word)) << word;
      if (option.kind == OptionKind::word) {
        EXPECT_FALSE(accepts("no such word"));
      }
      if (option.kind != OptionKind::integer && option.kind != OptionKind::number) continue;
      const auto number = [&](double value) {
        const bool whole = option.kind == OptionKind::integer;
        return whole ? OptionValue(static_cast<std::int64_t>(value)) : OptionValue(value);
      };
      const Range& range = option.range;
      if (std::isfinite(range.low)) {
        EXPECT_EQ(accepts(number(range.low)), !range.open_low);
        EXPECT_FALSE(accepts(number(std::min(range.low - 1, std::nextafter(range.low, -infinity)))));
      }
      if (std::isfinite(range.high)) {
        EXPECT_EQ(accepts(number(range.high)), !range.open_high);
        EXPECT_FALSE(accepts(number(std::max(range.high + 1, std::nextafter(range.high, infinity)))));
      }
    }
  }
}

TEST(Registry, Names_SortedAndUnique) {
  const auto rows = methods();
  ASSERT_FALSE(rows.empty());
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_LT(rows[i - 1].name, rows[i].name);
}

TEST(Registry, EveryMethod_HasSummaryAndDevice) {
  for (const Method& method : methods()) {
    EXPECT_FALSE(method.summary.empty()) << method.name;
    EXPECT_TRUE(method.serial || method.openmp || method.cuda) << method.name;
    EXPECT_TRUE(method.sparse || method.dense) << method.name;
    for (const OptionInfo& option : method.options) EXPECT_FALSE(option.help.empty()) << option.name;
  }
}

TEST(Registry, UnknownMethod_SuggestsNearest) {
  try {
    (void)make_solver<double>("gmers", Device());
    FAIL() << "accepted";
  } catch (const BadOption& error) {
    EXPECT_EQ(error.did_you_mean(), "gmres");
  }
}

TEST(Registry, NotAPreconditioner_IsRefused) {
  EXPECT_THROW((void)make_solver<double>("cg", Device(), {{"preconditioner", "bicgstab"}}), BadOption);
  EXPECT_THROW((void)make_solver<double>("cg", Device(), {{"preconditioner", "jacoby"}}), BadOption);
  EXPECT_THROW((void)make_solver<double>("cg", Device(), {{"preconditioner.weight", 1}}), BadOption);
  EXPECT_THROW(
      (void)make_solver<double>("cg", Device(), {{"preconditioner", "jacobi"}, {"preconditioner.wait", 1}}),
      BadOption);
}

TEST(Registry, UnsupportedDevice_IsRefused) {
  EXPECT_THROW((void)make_solver<double>("cusolver-lu", Device::openmp()), NotBuilt);
}

}  // namespace
}  // namespace echelon
