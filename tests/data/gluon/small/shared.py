LAYOUT = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [0]))

@gluon.jit
def make(buffers, ready, taken, out, n):
    for i in range(n):
        mbarrier.wait(taken.index(i % 2), ((i // 2) + 1) & 1)
        buffers.index(i % 2).store(gl.full([64], i + 1, gl.float32))
        mbarrier.arrive(ready.index(i % 2), count=1)

@gluon.jit
def take(buffers, ready, taken, out, n):
    total = gl.zeros([64], gl.float32)
    for i in range(n):
        mbarrier.wait(ready.index(i % 2), (i // 2) & 1)
        total += buffers.index(i % 2).load()
        mbarrier.arrive(taken.index(i % 2), pred=i < n)
    gl.store(out + gl.arange(0, 64), total)

@gluon.aggregate
class Ring:
    memory: gl.shared_memory_descriptor
    ready: gl.shared_memory_descriptor
    taken: gl.shared_memory_descriptor

    @gluon.jit
    def allocate(slots: gl.constexpr):
        memory = gl.allocate_shared_memory(gl.float32, [slots, 64], LAYOUT)
        ready = mbarrier.allocate_mbarrier(batch=slots)
        taken = mbarrier.allocate_mbarrier(batch=slots)
        for slot in gl.static_range(slots):
            mbarrier.init(ready.index(slot), count=1)
            mbarrier.init(taken.index(slot), count=1)
        return Ring(memory, ready, taken)

@gluon.jit
def passed(out, n):
    ring = Ring.allocate(2)
    arguments = (ring.memory, ring.ready, ring.taken, out, n)
    gl.warp_specialize([(take, arguments), (make, arguments)], [1], [24])

def main():
    out = torch.empty(64)
    passed[(1,)](out, 5, num_warps=4)
    return out
