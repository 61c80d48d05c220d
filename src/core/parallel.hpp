// A parallel loop over independent items that can be interrupted.
#pragma once

#ifdef LOCALEGOP_OPENMP
#include <omp.h>
#else
#include <system_error>
#include <thread>
#include <vector>
#endif

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <mutex>

namespace localegop {

// Calls run(first) on several threads at once, with true in the calling one, which is one of them.
#ifdef LOCALEGOP_OPENMP
constexpr const char* kThreading = "openmp";

template <class Run>
void on_threads(int threads, Run& run) {
#pragma omp parallel num_threads(threads)
    run(omp_get_thread_num() == 0);
}
#else
constexpr const char* kThreading = "std::thread";

template <class Run>
void on_threads(int threads, Run& run) {
    std::vector<std::thread> others;
    others.reserve(threads);
    try {
        for (int other = 1; other < threads; ++other) others.emplace_back([&run] { run(false); });
    } catch (const std::system_error&) {
        // The system has no more threads: those that there are do all the work.
    }
    run(true);
    for (std::thread& other : others) other.join();
}
#endif

// Calls make() once per thread for a worker, then worker(i) for every item. Which thread takes which item
// is left to chance, so worker(i) must write to places of its own only. The calling thread runs
// `interrupted` now and then; when that returns true, the remaining items are skipped and the loop
// returns false. The first exception of any worker ends the loop and is thrown again in the calling thread.
template <class Make, class Interrupted>
bool parallel_for(std::size_t count, int threads, Make make, Interrupted interrupted) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stop{false};
    std::exception_ptr failure;
    std::mutex failing;
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
            const std::lock_guard<std::mutex> lock(failing);
            if (!failure) failure = std::current_exception();
            stop = true;
        }
    };
    if (threads <= 1 || count <= 1) {
        run(true);
    } else {
        on_threads(threads, run);
    }
    if (failure) std::rethrow_exception(failure);
    return !stop;
}

}  // namespace localegop
