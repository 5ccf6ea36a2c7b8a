// SPDX-License-Identifier: BSD-3-Clause
/// Reader of binary files: numbers in either byte order, errors with the byte's position.
#pragma once

#include "io/text/source.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace echelon::io {

template <std::size_t bytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using Type = std::uint8_t;
};
template <>
struct UnsignedOf<2> {
  using Type = std::uint16_t;
};
template <>
struct UnsignedOf<4> {
  using Type = std::uint32_t;
};
template <>
struct UnsignedOf<8> {
  using Type = std::uint64_t;
};

/// `value` converted between `order` and the machine's byte order.
template <class V>
V in_order(V value, std::endian order) {
  if (order == std::endian::native || sizeof(V) == 1) return value;
  using Bits = typename UnsignedOf<sizeof(V)>::Type;
  auto bits = std::bit_cast<Bits>(value);
  if constexpr (sizeof(V) == 2) bits = __builtin_bswap16(bits);
  if constexpr (sizeof(V) == 4) bits = __builtin_bswap32(bits);
  if constexpr (sizeof(V) == 8) bits = __builtin_bswap64(bits);
  return std::bit_cast<V>(bits);
}

template <class V>
std::complex<V> in_order(std::complex<V> value, std::endian order) {
  return {in_order(value.real(), order), in_order(value.imag(), order)};
}

/// A number of half precision, IEEE 754's binary16, as files store it.
struct Half {
  std::uint16_t bits = 0;
};

/// The number that a stored element stands for.
template <class Stored>
Stored number_of(Stored stored) {
  return stored;
}
inline float number_of(Half half) {
  constexpr int special = 31;
  const int exponent = half.bits >> 10 & special;
  const int fraction = half.bits & 1023;
  float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                  : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  if (exponent == special) {
    magnitude =
        fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  }
  return half.bits >> 15 != 0 ? -magnitude : magnitude;
}

/// A sequence of bytes of known length, so that sizes in the file can be checked before memory is allocated.
/// All members throw ParseError.
class BinaryReader {
 public:
  /// Starts at the first byte of `source`; `name` stands for the file in messages.
  BinaryReader(TextSource& source, std::string name);

  [[nodiscard]] std::int64_t left() const { return total_ - position_; }
  [[nodiscard]] std::int64_t position() const { return position_; }
  /// Fails unless count * size bytes are left; `what` names them in the message.
  void require(std::int64_t count, std::int64_t size, const std::string& what) const;
  void read(char* target, std::int64_t bytes);

  template <class V>
  void read(std::span<V> target, std::endian order) {
    read(reinterpret_cast<char*>(target.data()), static_cast<std::int64_t>(target.size_bytes()));
    for (V& value : target) value = in_order(value, order);
  }
  template <class V>
  V read_one(std::endian order) {
    V value{};
    read(std::span<V>(&value, 1), order);
    return value;
  }
  /// Skips `bytes`, which must be left.
  void skip(std::int64_t bytes);

  [[noreturn]] void fail(const std::string& reason) const { fail_at(position_, reason); }
  [[noreturn]] void fail_at(std::int64_t position, const std::string& reason) const;
  /// Throws ComplexNumbers.
  [[noreturn]] void fail_complex(std::int64_t position) const;
  /// Fails because `value` overflows the precision or is not finite.
  [[noreturn]] void fail_value(std::int64_t position, double value, bool single) const;

 private:
  TextSource& source_;
  std::string name_;
  std::int64_t total_ = 0;
  std::int64_t position_ = 0;
};

struct EveryElement {
  bool operator()(std::int64_t) const { return true; }
};

/// Calls `use(k, value)` for those of `count` numbers of type Stored for which `is_needed(k)`, converted to
/// T. Fails for NaN, Inf and overflow of T among them.
template <class T, class Stored, class Use, class IsNeeded = EveryElement>
void read_values(BinaryReader& reader, std::int64_t count, std::endian order, Use use,
                 IsNeeded is_needed = {}) {
  constexpr std::int64_t chunk = 1 << 15;
  std::vector<Stored> buffer(static_cast<std::size_t>(std::min(count, chunk)));
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t size = std::min(chunk, count - done);
    const std::int64_t start = reader.position();
    reader.read(std::span<Stored>(buffer).first(static_cast<std::size_t>(size)), order);
    for (std::int64_t k = 0; k < size; ++k) {
      if (!is_needed(done + k)) continue;
      const auto stored = number_of(buffer[static_cast<std::size_t>(k)]);
      if constexpr (std::is_floating_point_v<decltype(stored)>) {
        if (!(std::abs(stored) <= static_cast<double>(std::numeric_limits<T>::max()))) {
          reader.fail_value(start + k * static_cast<std::int64_t>(sizeof(Stored)),
                            static_cast<double>(stored), sizeof(T) == sizeof(float));
        }
      }
      use(done + k, static_cast<T>(stored));
    }
    done += size;
  }
}

}  // namespace echelon::io
