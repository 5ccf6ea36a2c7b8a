// SPDX-License-Identifier: BSD-3-Clause
/// A contiguous array in a device's memory.
#pragma once

#include <echelon/device.hpp>
#include <echelon/export.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon {

namespace memory_detail {
/// Allocates uninitialised memory, aligned to 64 bytes (256 on a GPU). Throws OutOfMemory, NotBuilt,
/// NoDevice.
ECHELON_API void* allocate(const Device& device, std::size_t bytes);
ECHELON_API void deallocate(const Device& device, void* pointer) noexcept;
/// Shrinks an allocation to its first `bytes` bytes and returns its address; on the host it usually stays in
/// place.
ECHELON_API void* shrink(const Device& device, void* pointer, std::size_t bytes);
/// Copies `bytes` bytes, also between devices. Returns when the copy is complete.
ECHELON_API void copy(const Device& to, void* target, const Device& from, const void* source,
                      std::size_t bytes);
/// Computes count * size. Throws InvalidMatrix if that overflows or if count is negative.
ECHELON_API std::size_t checked_bytes(std::int64_t count, std::size_t size);
}  // namespace memory_detail

/// Owns `size` elements in the memory of `device`, uninitialised unless a constructor says otherwise; or
/// borrows them, see `borrow`. Copying copies the elements, and the copy owns them; moving leaves the source
/// empty. On a GPU memory is allocated and freed in the order of the calling thread's queued work, without
/// waiting: an array must not be destroyed by one thread while work that another thread has queued still uses
/// it. A function that returns a number to the host, such as `dot` or a solver's `solve`, has waited for its
/// thread's work.
template <class T>
class ECHELON_API Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Array() = default;
  Array(const Device& device, std::int64_t size)
      : device_(device),
        size_(size),
        data_(
            static_cast<T*>(memory_detail::allocate(device, memory_detail::checked_bytes(size, sizeof(T))))) {
  }
  /// Copies host elements to `device`.
  Array(const Device& device, std::span<const T> host)
      : Array(device, static_cast<std::int64_t>(host.size())) {
    memory_detail::copy(device_, data_, Device::serial(), host.data(), bytes());
  }
  /// Refers to elements in the memory of `device` that the caller owns and that must stay in place as long as
  /// the array exists.
  [[nodiscard]] static Array borrow(const Device& device, T* data, std::int64_t size) {
    Array result;
    result.device_ = device;
    result.size_ = size;
    result.data_ = data;
    result.owns_ = false;
    return result;
  }
  Array(std::initializer_list<T> host) : Array(Device(), std::span<const T>(host.begin(), host.size())) {}
  Array(const Array& other) : Array(other.device_, other.size_) {
    memory_detail::copy(device_, data_, device_, other.data_, bytes());
  }
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array other) noexcept {
    swap(other);
    return *this;
  }
  ~Array() {
    if (owns_) memory_detail::deallocate(device_, data_);
  }

  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// False if the elements are borrowed.
  [[nodiscard]] bool owns() const { return owns_; }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }
  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }

  /// A copy in the memory of `device`.
  [[nodiscard]] Array to(const Device& device) const {
    Array result(device, size_);
    memory_detail::copy(device, result.data_, device_, data_, bytes());
    return result;
  }
  [[nodiscard]] std::vector<T> to_vector() const {
    std::vector<T> result(static_cast<std::size_t>(size_));
    memory_detail::copy(Device::serial(), result.data(), device_, data_, bytes());
    return result;
  }

  /// Element i of a host array; neither the index nor the device is checked.
  T& operator[](std::int64_t i) { return data_[i]; }
  const T& operator[](std::int64_t i) const { return data_[i]; }
  [[nodiscard]] std::span<T> span() { return {data_, static_cast<std::size_t>(size_)}; }
  [[nodiscard]] std::span<const T> span() const { return {data_, static_cast<std::size_t>(size_)}; }

  /// Keeps the first `size` elements, at most the current number, and frees the rest of the memory. Pointers
  /// to elements become invalid.
  void shrink(std::int64_t size) {
    if (size == size_) return;
    if (owns_) {
      data_ =
          static_cast<T*>(memory_detail::shrink(device_, data_, static_cast<std::size_t>(size) * sizeof(T)));
    }
    size_ = size;
  }

  void swap(Array& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
    std::swap(owns_, other.owns_);
  }

 private:
  Device device_;
  std::int64_t size_ = 0;
  T* data_ = nullptr;
  bool owns_ = true;
};

}  // namespace echelon
