// A parallel loop over independent items that can be interrupted.
#pragma once

#include <omp.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>

namespace localegop {

// Calls make() once per thread for a worker, then worker(i) for every item. Which thread takes which item
// is left to chance, so worker(i) must write to places of its own only. The calling thread runs
// `interrupted` now and then; when that returns true, the remaining items are skipped and the loop
// returns false.
template <class Make, class Interrupted>
bool parallel_for(std::size_t count, int threads, Make make, Interrupted interrupted) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stop{false};
    std::exception_ptr failure;
    const auto run = [&](bool watches) {
        try {
            auto worker = make();
            auto checked = std::chrono::steady_clock::now();
            for (std::size_t i; !stop && (i = next++) < count;) {
                worker(i);
                const auto now = std::chrono::steady_clock::now();
                if (watches && now - checked > std::chrono::milliseconds(50)) {
                    checked = now;
                    if (interrupted()) stop = true;
                }
            }
        } catch (...) {
#pragma omp critical(localegop_failure)
            if (!failure) failure = std::current_exception();
            stop = true;
        }
    };
    if (threads <= 1 || count <= 1) {
        run(true);
    } else {
#pragma omp parallel num_threads(threads)
        run(omp_get_thread_num() == 0);
    }
    if (failure) std::rethrow_exception(failure);
    return !stop;
}

}  // namespace localegop
