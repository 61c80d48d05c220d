// Chooses, once, the copy of the innermost loops that suits this processor.

#include "hot.hpp"

namespace localegop {

extern const HotLoops hot_loops_baseline;
#ifdef LOCALEGOP_X86
extern const HotLoops hot_loops_avx2;
extern const HotLoops hot_loops_avx512;
#endif

const HotLoops& hot_loops() {
#ifdef LOCALEGOP_X86
    static const HotLoops* chosen = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
                                        ? &hot_loops_avx512
                                    : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
                                        ? &hot_loops_avx2
                                        : &hot_loops_baseline;
    return *chosen;
#else
    return hot_loops_baseline;
#endif
}

}  // namespace localegop
