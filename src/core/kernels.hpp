// The table of kernels: all that is known of them, and the only place where one is added.
#pragma once

#include <cstddef>
#include <limits>

namespace localegop {

// One line a kernel: X(name, profile, support, decay).
//   profile  k(u) of the squared distance u, one at 0, not rising; u is a vector (hot.cpp), on which +, -, *,
//            /, exp_negative (for x <= 0), square_root, positive (the larger of u and 0) and inside (the
//            larger of 1 - u and 0) work
//   support  k(u) = 0 for u >= support
//   decay    c if k is exp(-c u), so that k(u + shift) is proportional to k(u): distances may then be
//            counted from the nearest point on; otherwise 0
#define LOCALEGOP_KERNELS(X)                                           \
    X(gaussian, exp_negative(-positive(u)), kInfinite, 1.0)            \
    X(epanechnikov, inside(u), 1.0, 0.0)                               \
    X(biweight, inside(u) * inside(u), 1.0, 0.0)                       \
    X(triweight, inside(u) * inside(u) * inside(u), 1.0, 0.0)          \
    X(laplace, exp_negative(-square_root(positive(u))), kInfinite, 0.0) \
    X(student, 1.0 / ((1.0 + u) * (1.0 + u)), kInfinite, 0.0)

constexpr double kInfinite = std::numeric_limits<double>::infinity();

#define LOCALEGOP_KERNEL_ID(name, profile, support, decay) name,
enum class KernelId : int { LOCALEGOP_KERNELS(LOCALEGOP_KERNEL_ID) custom };
#undef LOCALEGOP_KERNEL_ID

struct KernelTraits {
    const char* name;
    double support, decay;
};

// In the order of KernelId.
#define LOCALEGOP_KERNEL_TRAITS(name, profile, support, decay) {#name, support, decay},
constexpr KernelTraits kKernels[] = {LOCALEGOP_KERNELS(LOCALEGOP_KERNEL_TRAITS)};
#undef LOCALEGOP_KERNEL_TRAITS

constexpr std::size_t kKernelCount = sizeof(kKernels) / sizeof(kKernels[0]);

}  // namespace localegop
