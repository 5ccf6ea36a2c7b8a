// SPDX-License-Identifier: BSD-3-Clause
#include "output/failure.hpp"

#include "distributed/launch.hpp"
#include "output/json.hpp"
#include "terminal/terminal.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <new>
#include <string>
#include <system_error>

namespace echelon::tool {

namespace {

struct Failure {
  ExitCode code = exit_internal;
  std::string kind;
  std::string message;
  Json facts = Json::object();
};

/// The command that prints the names from which an unknown one was to be chosen, as the end of a message.
std::string command_for_names(const BadOption& e) {
  if (!e.did_you_mean().empty()) return {};
  if (e.path() == "method" || e.path().ends_with("preconditioner")) return "; see 'echelon methods'";
  if (e.path() == "generator") return "; see 'echelon generate --list'";
  return {};
}

Failure describe(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const BadOption& e) {
    Json facts = {{"option", e.path()}};
    if (!e.did_you_mean().empty()) facts["did_you_mean"] = e.did_you_mean();
    return {exit_usage, "BadOption", e.what() + command_for_names(e), facts};
  } catch (const ParseError& e) {
    return {exit_bad_input,
            "ParseError",
            e.what(),
            {{"file", e.file()}, {"line", e.line()}, {"column", e.column()}}};
  } catch (const WriteError& e) {
    return {exit_resources, "WriteError", e.what(), {{"file", e.file()}}};
  } catch (const InvalidMatrix& e) {
    return {exit_bad_input, "InvalidMatrix", e.what()};
  } catch (const DimensionMismatch& e) {
    return {exit_bad_input, "DimensionMismatch", e.what()};
  } catch (const NotBuilt& e) {
    return {exit_resources, "NotBuilt", e.what()};
  } catch (const NoDevice& e) {
    return {exit_resources, "NoDevice", e.what()};
  } catch (const OutOfMemory& e) {
    return {exit_resources, "OutOfMemory", e.what(), {{"asked", e.asked()}, {"available", e.available()}}};
  } catch (const ProcessFailure& e) {
    return {exit_resources, "ProcessFailure", e.what()};
  } catch (const CudaError& e) {
    return {exit_resources, "CudaError", e.what()};
  } catch (const OpenClError& e) {
    return {exit_resources, "OpenClError", e.what()};
  } catch (const std::bad_alloc&) {
    return {exit_resources, "OutOfMemory", "out of memory on the host"};
  } catch (const std::system_error& e) {
    const bool no_thread = e.code() == std::errc::resource_unavailable_try_again;
    return {exit_resources, "SystemError",
            fmt::format("{}{}", no_thread ? "no thread can be started: " : "", e.what())};
  } catch (const std::exception& e) {
    return {exit_internal, "InternalError", fmt::format("internal error, please report it: {}", e.what())};
  }
}

}  // namespace

ExitCode report_failure(const std::exception_ptr& failure, bool json) {
  Failure found = describe(failure);
  print_stderr(fmt::format("{} {}\n", paint("echelon: error:", Colour::red, stderr), found.message));
  if (json) {
    Json error = {{"kind", found.kind}, {"message", found.message}, {"exit_code", int{found.code}}};
    error.update(found.facts);
    print_json({{"error", error}});
  }
  return found.code;
}

}  // namespace echelon::tool
