// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace echelon {

/// Pool of idle workspaces. Concurrent calls get one each; a repeated call gets the workspace of the previous
/// call, with the memory that it allocated. Thread-safe.
template <class Workspace>
class WorkspacePool {
 public:
  /// Calls f(workspace) with an idle workspace, or with a new one from make(), which returns a
  /// std::unique_ptr. A workspace whose call throws is destroyed: its contents may be inconsistent.
  template <class Make, class F>
  auto with_workspace(const Make& make, const F& f) {
    std::unique_ptr<Workspace> workspace = take();
    if (workspace == nullptr) workspace = make();
    auto result = f(*workspace);
    give_back(std::move(workspace));
    return result;
  }

  /// Returns an idle workspace for use beyond a call, or null. The caller gives it back.
  std::unique_ptr<Workspace> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return nullptr;
    std::unique_ptr<Workspace> workspace = std::move(idle_.back());
    idle_.pop_back();
    return workspace;
  }
  void give_back(std::unique_ptr<Workspace> workspace) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workspace));
  }

  /// Destroys the idle workspaces.
  void clear() {
    const std::lock_guard lock(mutex_);
    idle_.clear();
  }

  /// Calls f for each idle workspace.
  template <class F>
  void for_each_idle(const F& f) const {
    const std::lock_guard lock(mutex_);
    for (const auto& workspace : idle_) f(*workspace);
  }

 private:
  mutable std::mutex mutex_;  // guards idle_
  std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace echelon
