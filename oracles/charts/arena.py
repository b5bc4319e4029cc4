"""Room for what oracles remember of sentences: an arena that these enter in the order in which they are asked for.

The arena is a ring: a sentence is put after the one that came before it, and where there is no room, those who came first are
forgotten. So all that is remembered is the latest, and nothing is ever moved.
"""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def place(s, size, arena, places, queue, ring, depths):
    """Where sentence s begins in the arena; makes room at the cost of those who came first. Returns (place, whether new)."""
    if places[s] >= 0:
        return places[s], False
    begin = ring[2]
    if begin + size > len(arena):
        # Too little room at the end: whoever is there came before all others.
        while ring[1] > 0 and places[queue[ring[0]]] >= begin:
            _forget_first(places, queue, ring, depths)
        begin = 0
    while ring[1] > 0 and begin <= places[queue[ring[0]]] < begin + size:
        _forget_first(places, queue, ring, depths)
    queue[(ring[0] + ring[1]) % len(queue)] = s
    ring[1] += 1
    ring[2] = begin + size
    places[s] = begin
    return begin, True


@njit(cache=True, nogil=True)
def _forget_first(places, queue, ring, depths):
    forgotten = queue[ring[0]]
    places[forgotten] = -1
    depths[forgotten] = 0
    ring[0] = (ring[0] + 1) % len(queue)
    ring[1] -= 1
