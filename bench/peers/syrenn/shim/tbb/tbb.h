// oneTBB under the names of its predecessor.
#pragma once
#include "oneapi/tbb.h"

namespace tbb {
template <typename Item>
using parallel_do_feeder = feeder<Item>;

template <typename Iterator, typename Body>
void parallel_do(Iterator first, Iterator last, const Body &body) {
  parallel_for_each(first, last, body);
}
}  // namespace tbb
