// SPDX-License-Identifier: BSD-3-Clause
/// Requests of calls from Python.
#pragma once

#include "computation.hpp"

#include <echelon/solve.hpp>
#include <echelon/solver.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string_view.h>

#include <atomic>
#include <memory>
#include <stop_token>
#include <utility>

namespace echelon::python {

/// Control of a set-up or a solve, with a Python callable for its progress.
struct Request : Control {
  SharedObject callback;
};

/// Options of a solution in one call, with a Python callable for its progress.
struct SolveRequest : SolveOptions {
  SharedObject callback;
  SharedObject initial_guess_array;  ///< keeps the elements of `initial_guess` alive
};

/// The x of a solve for a Python callback: a copy for each request, during the call.
class Iterate {
 public:
  /// The vector as a NumPy array. Throws Error in a set-up, after the call, and for a solve on a GPU.
  [[nodiscard]] nb::object vector() const;

  /// Calls f(iterate), where `iterate` is that of `progress` until f returns.
  template <class F>
  static auto during(const Progress& progress, const F& f) {
    const auto iterate = std::make_shared<Iterate>();
    iterate->progress_ = &progress;
    struct End {
      Iterate& iterate;
      ~End() { iterate.progress_ = nullptr; }
    } const end{*iterate};
    return f(iterate);
  }

 private:
  const Progress* progress_ = nullptr;
};

/// The request as the library takes it: a stop is requested by `flag`, which the callback sets by returning
/// True, and by `token`. An exception of the callback passes through the library.
template <class R>
[[nodiscard]] R connected(R request, std::atomic<bool>& flag, std::stop_token token = {}) {
  request.cancel = CancellationToken(std::move(token), &flag);
  if (request.callback) {
    request.on_progress = [callback = request.callback, &flag](const Progress& progress) {
      const Locked lock;
      const nb::object answer = Iterate::during(progress, [&](const std::shared_ptr<Iterate>& iterate) {
        return callback.get()(progress.method, to_string(progress.phase), progress.fraction,
                              progress.right_hand_side, progress.iteration, progress.relative_residual,
                              progress.tolerance, iterate);
      });
      if (answer.is(nb::handle(Py_True))) flag = true;
    };
  }
  return request;
}

}  // namespace echelon::python
