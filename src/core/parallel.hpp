// A parallel loop over independent items that can be interrupted.
#pragma once

#ifdef LOCALEGOP_OPENMP
#include <omp.h>
#else
#include <system_error>
#include <thread>
#include <vector>
#endif

#include <algorithm>
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
void on_threads(int threads, const Run& run) {
#pragma omp parallel num_threads(threads)
    run(omp_get_thread_num() == 0);
}
#else
constexpr const char* kThreading = "std::thread";

template <class Run>
void on_threads(int threads, const Run& run) {
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

constexpr std::chrono::microseconds kAlone{200};     // of work, before other threads are called
constexpr std::chrono::milliseconds kBetweenLooks{50};  // for interrupts

// Calls make() once per thread for a worker, then worker(i) for every item. Which thread takes which item
// is left to chance, so worker(i) must write to places of its own only. Other threads are called only if
// the work takes longer than it takes to call them. The calling thread runs `interrupted` now and then; when
// that returns true, the remaining items are skipped and the loop returns false. The first exception of any
// worker ends the loop and is thrown again in the calling thread.
template <class Make, class Interrupted>
bool parallel_for(std::size_t count, int threads, Make make, Interrupted interrupted) {
    using Clock = std::chrono::steady_clock;
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stop{false};
    std::exception_ptr failure;
    std::mutex failing;
    const auto guarded = [&](auto&& body) {
        try {
            body();
        } catch (...) {
            const std::lock_guard<std::mutex> lock(failing);
            if (!failure) failure = std::current_exception();
            stop = true;
        }
    };
    const auto work = [&](auto& worker, bool watches, Clock::time_point until) {
        Clock::time_point now = Clock::now(), looked = now;
        for (std::size_t i; now < until && !stop && (i = next++) < count;) {
            worker(i);
            now = Clock::now();
            if (watches && now - looked > kBetweenLooks) {
                looked = now;
                if (interrupted()) stop = true;
            }
        }
    };
    guarded([&] {
        constexpr auto forever = Clock::time_point::max();
        auto own = make();
        work(own, true, threads > 1 ? Clock::now() + kAlone : forever);
        if (threads <= 1 || stop || next >= count) return;
        const auto run = [&](bool first) {
            guarded([&] {
                if (first) return work(own, true, forever);
                auto worker = make();
                work(worker, false, forever);
            });
        };
        const std::size_t left = count - next;  // may have shrunk since, but not grown
        on_threads(static_cast<int>(std::min<std::size_t>(threads, left + 1)), run);
    });
    if (failure) std::rethrow_exception(failure);
    return !stop;
}

}  // namespace localegop
