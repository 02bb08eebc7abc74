// triton 3.9.0, sm_100
#blocked = #ttg.blocked<{sizePerThread = [1, 16], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#linear = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 8}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 32}>
#shared2 = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 8}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<128x64xsi8, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xsi8, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x64xsi32, #shared1>, i32, i32, i64, i64, i32) -> (), sym_name = "eight_bits", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<128x64xsi8, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<64x64xsi8, #shared>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_desc: !tt.tensordesc<128x64xsi32, #shared1>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %depth: i32):
    %acc = "arith.constant"() <{value = false}> {sched.location = "integers.py:93:15", sched.name = "acc"} : () -> i1
    %0 = "arith.constant"() <{value = true}> : () -> i1
    %1 = "arith.constant"() <{value = 128 : i32}> {sched.location = "integers.py:88:12"} : () -> i32
    %2 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 0 : i32}> {sched.location = "integers.py:90:5"} : () -> i32
    %acc_0 = "arith.constant"() <{value = dense<0> : tensor<128x64xi32, #linear>}> {sched.location = "integers.py:89:11", sched.name = "acc"} : () -> tensor<128x64xi32, #linear>
    %4 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "integers.py:88:12"} : () -> i32
    %5 = "arith.muli"(%4, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:88:12"} : (i32, i32) -> i32
    %6 = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "integers.py:88:34"} : () -> i32
    %7 = "arith.muli"(%6, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:88:34"} : (i32, i32) -> i32
    %acc_1:2 = "ttng.tmem_alloc"() {sched.location = "integers.py:93:15", sched.name = "acc"} : () -> (!ttg.memdesc<128x64xi32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %acc_2 = "ttng.tmem_store"(%acc_1#0, %acc_1#1, %acc_0, %0) {sched.location = "integers.py:93:15", sched.name = "acc"} : (!ttg.memdesc<128x64xi32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, tensor<128x64xi32, #linear>, i1) -> !ttg.async.token
    %acc_3:2 = "scf.for"(%3, %depth, %2, %acc, %acc_2) ({
    ^bb0(%k: i32, %acc_5: i1, %acc_6: !ttg.async.token):
      %a = "tt.descriptor_load"(%a_desc, %5, %k) {sched.location = "integers.py:91:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<128x64xsi8, #shared>, i32, i32) -> tensor<128x64xi8, #blocked>
      %a_7 = "ttg.local_alloc"(%a) {sched.location = "integers.py:91:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xi8, #blocked>) -> !ttg.memdesc<128x64xi8, #shared, #smem>
      %b = "tt.descriptor_load"(%b_desc, %7, %k) {sched.location = "integers.py:92:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<64x64xsi8, #shared>, i32, i32) -> tensor<64x64xi8, #blocked>
      %acc_8 = "ttg.local_alloc"(%b) {sched.location = "integers.py:93:25", sched.name = "acc", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi8, #blocked>) -> !ttg.memdesc<64x64xi8, #shared, #smem>
      %acc_9 = "ttg.memdesc_trans"(%acc_8) <{order = array<i32: 1, 0>}> {sched.location = "integers.py:93:25", sched.name = "acc", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<64x64xi8, #shared, #smem>) -> !ttg.memdesc<64x64xi8, #shared2, #smem>
      %acc_10 = "ttng.tc_gen5_mma"(%a_7, %acc_9, %acc_1#0, %acc_6, %acc_5, %0) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "integers.py:93:15", sched.name = "acc", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<128x64xi8, #shared, #smem>, !ttg.memdesc<64x64xi8, #shared2, #smem>, !ttg.memdesc<128x64xi32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
      "scf.yield"(%0, %acc_10) : (i1, !ttg.async.token) -> ()
    }) {sched.location = "integers.py:90:5", sched.name = "k"} : (i32, i32, i32, i1, !ttg.async.token) -> (i1, !ttg.async.token)
    %acc_4:2 = "ttng.tmem_load"(%acc_1#0, %acc_3#1) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "integers.py:93:15", sched.name = "acc"} : (!ttg.memdesc<128x64xi32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x64xi32, #linear>, !ttg.async.token)
    %8 = "ttg.convert_layout"(%acc_4#0) {sched.trivial = false, sched.location = "integers.py:94:5"} : (tensor<128x64xi32, #linear>) -> tensor<128x64xi32, #blocked1>
    "tt.descriptor_store"(%c_desc, %8, %5, %7) {sched.location = "integers.py:94:5"} : (!tt.tensordesc<128x64xsi32, #shared1>, tensor<128x64xi32, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "integers.py:86:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
