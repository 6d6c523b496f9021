// Turns rows that show states into states that are shown by rows.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "estep.hpp"
#include "tiles.hpp"

namespace tensorpmf {

bool index_rows(const Packing& packing, const Rows& rows, RowIndex& index) {
    constexpr int span_rows = RowIndex::span_rows;
    constexpr int worthwhile = 3;  // rows a list
    const std::int64_t n_states = packing.base[packing.n_groups];
    if (n_states > 65536 || rows.n_rows == 0) return false;
    Tiles tiles(packing, rows);
    Tile tile;
    std::vector<std::uint32_t> states(tiles.most_states(most_tile_rows)), first(most_tile_rows + 1), run_first(most_tile_rows + 1);
    tile.states = states.data(), tile.first = first.data(), tile.run_first = run_first.data();
    std::vector<std::uint32_t> cell_state, position(std::size_t(n_states) + 1);
    std::vector<std::uint16_t> cell_row;
    index.span_lists = {0}, index.span_cells = {0};
    const auto close = [&] {  // a counting sort by state
        std::fill(position.begin(), position.end(), 0);
        for (std::uint32_t state : cell_state) ++position[state + 1];
        for (std::int64_t s = 0; s < n_states; ++s) {
            if (position[std::size_t(s) + 1]) {
                index.state.push_back(std::uint16_t(s));
                index.count.push_back(std::uint16_t(position[std::size_t(s) + 1]));
            }
            position[std::size_t(s) + 1] += position[std::size_t(s)];
        }
        const std::size_t begin = index.rows.size();
        index.rows.resize(begin + cell_state.size());
        for (std::size_t c = 0; c < cell_state.size(); ++c) index.rows[begin + position[cell_state[c]]++] = cell_row[c];
        index.span_lists.push_back(std::uint32_t(index.state.size()));
        index.span_cells.push_back(std::int64_t(index.rows.size()));
        cell_state.clear(), cell_row.clear();
    };
    while (tiles.next(tile, most_tile_rows)) {
        if (tile.row && tile.row % span_rows == 0) {
            close();
            if (index.rows.size() < worthwhile * index.state.size()) return false;
        }
        for (int t = 0; t < tile.n; ++t)
            for (std::uint32_t c = tile.first[t]; c < tile.first[t + 1]; ++c) {
                cell_state.push_back(tile.states[c]);
                cell_row.push_back(std::uint16_t((tile.row + t) % span_rows));
            }
    }
    close();
    return index.rows.size() >= worthwhile * index.state.size();
}

}  // namespace tensorpmf
