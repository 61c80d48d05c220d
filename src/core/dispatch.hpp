// Which copies of the innermost loops there are; which one is used, hot_loops() tells.
#pragma once

#include <vector>

#include "hot.hpp"

namespace localegop {

// The copies that this processor can run, slowest first.
std::vector<const HotLoops*> runnable_hot_loops();

}  // namespace localegop
