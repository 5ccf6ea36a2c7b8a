// SPDX-License-Identifier: BSD-3-Clause
/// Owning handles of CUDA's libraries.
#pragma once

#include "backend/cuda/libraries.cuh"

#include <memory>
#include <type_traits>

namespace echelon {

template <auto destroy>
struct DestroyBy {
  template <class Object>
  void operator()(Object* object) const {
    destroy(object);
  }
};

/// `Owned<cudaStream_t, cudaStreamDestroy>` holds a stream.
template <class Handle, auto destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, DestroyBy<destroy>>;

/// The handle that `create(&handle, arguments...)` returns: `make_owned<OwnedEvent>(cudaEventCreate)`.
template <class OwnedHandle, class Create, class... Arguments>
[[nodiscard]] OwnedHandle make_owned(Create create, Arguments... arguments) {
  typename OwnedHandle::pointer handle = nullptr;
  check(create(&handle, arguments...));
  return OwnedHandle(handle);
}

}  // namespace echelon
