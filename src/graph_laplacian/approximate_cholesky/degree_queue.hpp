// SPDX-License-Identifier: BSD-3-Clause
/// Queue of vertices by degree.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::graph_laplacian {

/// Priority queue of vertices in buckets of equal degree, or of similar degree from 64 on. A vertex whose
/// degree has changed is inserted again, and its stale entries are skipped. The caller stores the bucket
/// number of each vertex, next to the vertex's other data.
class DegreeQueue {
 public:
  using Bucket = std::uint16_t;
  static constexpr Bucket none = 0xffff;

  void put(std::int32_t v, std::int32_t degree, Bucket& bucket_of_v) {
    const Bucket bucket = bucket_for(degree);
    if (bucket_of_v == bucket) return;
    bucket_of_v = bucket;
    if (bucket >= buckets_.size()) buckets_.resize(std::size_t{bucket} + 1);
    buckets_[bucket].push_back(v);
    if (bucket < lowest_) lowest_ = bucket;
  }

  /// Removes and returns the vertex inserted last into the lowest nonempty bucket, or -1 if the queue is
  /// empty. bucket_of(v) refers to the bucket number of vertex v.
  template <class BucketOf>
  std::int32_t take(const BucketOf& bucket_of) {
    for (; lowest_ < buckets_.size(); ++lowest_) {
      std::vector<std::int32_t>& bucket = buckets_[lowest_];
      while (!bucket.empty()) {
        const std::int32_t v = bucket.back();
        bucket.pop_back();
        if (bucket_of(v) != lowest_) continue;
        bucket_of(v) = none;
        return v;
      }
    }
    return -1;
  }

 private:
  static constexpr std::int32_t exact_degrees = 64;

  /// Bucket of a degree. Degrees from 64 on have eight buckets for each power of two.
  static Bucket bucket_for(std::int32_t degree) {
    if (degree < exact_degrees) return static_cast<Bucket>(degree < 0 ? 0 : degree);
    const auto bits = static_cast<unsigned>(degree);
    const int exponent = std::bit_width(bits) - 1;
    const unsigned part = (bits >> static_cast<unsigned>(exponent - 3)) & 7U;
    return static_cast<Bucket>(exact_degrees + 8 * (exponent - 6) + static_cast<int>(part));
  }

  std::vector<std::vector<std::int32_t>> buckets_;
  std::size_t lowest_ = 0;
};

}  // namespace echelon::graph_laplacian
