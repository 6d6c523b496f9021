// Memory for tables and counts, which come and go with every pass. Large pieces are kept for the next pass instead of
// given back, since fresh pages cost more than what is computed in them.
#pragma once

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <new>

namespace tensorpmf {

class Pool {
   public:
    // Aligned to cache lines.
    void* take(std::size_t bytes) {
        const std::size_t size = rounded(bytes);
        {
            const std::lock_guard lock(mutex_);
            const auto found = kept_.lower_bound(size);
            if (found != kept_.end() && found->first <= size + size / 4) {
                void* memory = found->second;
                n_kept_ -= found->first;
                lent_.emplace(memory, found->first);
                kept_.erase(found);
                return memory;
            }
        }
        void* memory = std::aligned_alloc(alignment, size);
        if (!memory) throw std::bad_alloc();
        const std::lock_guard lock(mutex_);
        lent_.emplace(memory, size);
        return memory;
    }

    void give_back(void* memory) noexcept {
        const std::lock_guard lock(mutex_);
        const auto lent = lent_.find(memory);
        const std::size_t size = lent->second;
        lent_.erase(lent);
        if (size < least || n_kept_ + size > most) return std::free(memory);
        kept_.emplace(size, memory);
        n_kept_ += size;
    }

   private:
    static constexpr std::size_t alignment = 64, least = 1 << 16, most = std::size_t(1) << 28;
    static std::size_t rounded(std::size_t bytes) { return (bytes + 4096) / 4096 * 4096; }

    std::mutex mutex_;
    std::multimap<std::size_t, void*> kept_;
    std::map<void*, std::size_t> lent_;
    std::size_t n_kept_ = 0;
};

inline Pool& pool() {
    static Pool* pool = new Pool;  // never destroyed: arrays may outlive the module
    return *pool;
}

struct GiveBack {
    void operator()(void* memory) const noexcept { pool().give_back(memory); }
};
using Memory = std::unique_ptr<void, GiveBack>;

inline Memory borrow(std::size_t bytes) { return Memory(pool().take(bytes)); }

}  // namespace tensorpmf
