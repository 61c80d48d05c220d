// Chooses, once, the copy of the innermost loops that suits this processor, or the one that was asked for.

#include "dispatch.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace localegop {

extern const HotLoops hot_loops_baseline;
#ifdef LOCALEGOP_X86
extern const HotLoops hot_loops_avx2;
extern const HotLoops hot_loops_avx512;
#endif

namespace {

// Slowest first.
std::vector<const HotLoops*> compiled() {
#ifdef LOCALEGOP_X86
    return {&hot_loops_baseline, &hot_loops_avx2, &hot_loops_avx512};
#else
    return {&hot_loops_baseline};
#endif
}

bool can_run(const HotLoops* loops) {
#ifdef LOCALEGOP_X86
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (loops == &hot_loops_avx2) return avx2;
    if (loops == &hot_loops_avx512)
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
#endif
    return loops == &hot_loops_baseline;
}

std::string names(const std::vector<const HotLoops*>& all) {
    std::string text;
    for (const HotLoops* loops : all) text += (text.empty() ? "" : ", ") + std::string(loops->name);
    return text;
}

const HotLoops* choose(const char* wanted) {
    const auto runnable = runnable_hot_loops();
    if (!wanted || !*wanted) return runnable.back();
    for (const HotLoops* loops : runnable)
        if (std::string(wanted) == loops->name) return loops;
    bool known = false;
    for (const HotLoops* loops : compiled()) known = known || std::string(wanted) == loops->name;
    throw std::runtime_error("the environment variable LOCALEGOP_ISA is '" + std::string(wanted) +
                             (known ? "', an instruction set that this processor cannot run"
                                    : "', which names no instruction set of this build") +
                             "; this processor can run: " + names(runnable) +
                             ". Set it to one of these, or unset it for the fastest");
}

}  // namespace

std::vector<const HotLoops*> runnable_hot_loops() {
    std::vector<const HotLoops*> runnable;
    for (const HotLoops* loops : compiled())
        if (can_run(loops)) runnable.push_back(loops);
    return runnable;
}

const HotLoops& hot_loops() {
    static const HotLoops* chosen = choose(std::getenv("LOCALEGOP_ISA"));
    return *chosen;
}

}  // namespace localegop
