// triton 3.9.0, sm_100
#blocked = #ttg.blocked<{sizePerThread = [1, 16], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#linear = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 8}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xsi8, #shared1>, i32, i32, i64, i64, !tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, i32) -> (), sym_name = "four_bits", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<128x64xf16, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<64x64xsi8, #shared1>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_desc: !tt.tensordesc<128x64xf16, #shared>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %depth: i32):
    %0 = "arith.constant"() <{value = false}> : () -> i1
    %1 = "arith.constant"() <{value = dense<4> : tensor<64x64xi8, #blocked>}> : () -> tensor<64x64xi8, #blocked>
    %2 = "arith.constant"() <{value = true}> : () -> i1
    %3 = "arith.constant"() <{value = 128 : i32}> : () -> i32
    %4 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %5 = "arith.constant"() <{value = 0 : i32}> {sched.location = "integers.py:76:5"} : () -> i32
    %6 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x64xf32, #linear>}> : () -> tensor<128x64xf32, #linear>
    %7 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "integers.py:73:12"} : () -> i32
    %8 = "arith.muli"(%7, %3) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:73:12"} : (i32, i32) -> i32
    %9 = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "integers.py:73:34"} : () -> i32
    %10 = "arith.muli"(%9, %4) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:73:34"} : (i32, i32) -> i32
    %low:2 = "ttng.tmem_alloc"() {sched.location = "integers.py:79:15", sched.name = "low"} : () -> (!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %high:2 = "ttng.tmem_alloc"() {sched.location = "integers.py:80:16", sched.name = "high"} : () -> (!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %high_0 = "ttng.tmem_store"(%high#0, %high#1, %6, %2) {sched.location = "integers.py:80:16", sched.name = "high"} : (!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, tensor<128x64xf32, #linear>, i1) -> !ttg.async.token
    %low_1 = "ttng.tmem_store"(%low#0, %low#1, %6, %2) {sched.location = "integers.py:79:15", sched.name = "low"} : (!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, tensor<128x64xf32, #linear>, i1) -> !ttg.async.token
    %high_2:3 = "scf.for"(%5, %depth, %4, %0, %low_1, %high_0) ({
    ^bb0(%k: i32, %low_5: i1, %low_6: !ttg.async.token, %high_7: !ttg.async.token):
      %a = "tt.descriptor_load"(%a_desc, %8, %k) {sched.location = "integers.py:77:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 3 : i32} : (!tt.tensordesc<128x64xf16, #shared>, i32, i32) -> tensor<128x64xf16, #blocked1>
      %a_8 = "ttg.local_alloc"(%a) {sched.location = "integers.py:77:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #blocked1>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = "tt.descriptor_load"(%b_desc, %k, %10) {sched.location = "integers.py:78:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 2 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 3 : i32} : (!tt.tensordesc<64x64xsi8, #shared1>, i32, i32) -> tensor<64x64xi8, #blocked>
      %low_9 = "arith.shli"(%b, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:79:27", sched.name = "low", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi8, #blocked>, tensor<64x64xi8, #blocked>) -> tensor<64x64xi8, #blocked>
      %low_10 = "arith.shrsi"(%low_9, %1) {sched.location = "integers.py:79:26", sched.name = "low", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi8, #blocked>, tensor<64x64xi8, #blocked>) -> tensor<64x64xi8, #blocked>
      %low_11 = "arith.sitofp"(%low_10) {sched.location = "integers.py:79:25", sched.name = "low", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi8, #blocked>) -> tensor<64x64xf16, #blocked>
      %low_12 = "ttg.local_alloc"(%low_11) {sched.location = "integers.py:79:25", sched.name = "low", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %low_13 = "ttng.tc_gen5_mma"(%a_8, %low_12, %low#0, %low_6, %low_5, %2) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "integers.py:79:15", sched.name = "low", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 7 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
      %high_14 = "arith.shrsi"(%b, %1) {sched.location = "integers.py:80:27", sched.name = "high", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi8, #blocked>, tensor<64x64xi8, #blocked>) -> tensor<64x64xi8, #blocked>
      %high_15 = "arith.sitofp"(%high_14) {sched.location = "integers.py:80:26", sched.name = "high", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi8, #blocked>) -> tensor<64x64xf16, #blocked>
      %high_16 = "ttg.local_alloc"(%high_15) {sched.location = "integers.py:80:26", sched.name = "high", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %high_17 = "ttng.tc_gen5_mma"(%a_8, %high_16, %high#0, %high_7, %low_5, %2) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "integers.py:80:16", sched.name = "high", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 11 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
      "scf.yield"(%2, %low_13, %high_17) : (i1, !ttg.async.token, !ttg.async.token) -> ()
    }) {sched.location = "integers.py:76:5", sched.name = "k"} : (i32, i32, i32, i1, !ttg.async.token, !ttg.async.token) -> (i1, !ttg.async.token, !ttg.async.token)
    %low_3:2 = "ttng.tmem_load"(%low#0, %high_2#1) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "integers.py:79:15", sched.name = "low"} : (!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x64xf32, #linear>, !ttg.async.token)
    %high_4:2 = "ttng.tmem_load"(%high#0, %high_2#2) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "integers.py:80:16", sched.name = "high"} : (!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x64xf32, #linear>, !ttg.async.token)
    %11 = "arith.muli"(%9, %3) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:81:22"} : (i32, i32) -> i32
    %12 = "arith.truncf"(%low_3#0) {sched.location = "integers.py:81:30"} : (tensor<128x64xf32, #linear>) -> tensor<128x64xf16, #linear>
    %13 = "ttg.convert_layout"(%12) {sched.trivial = false, sched.location = "integers.py:81:5"} : (tensor<128x64xf16, #linear>) -> tensor<128x64xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %13, %8, %11) {sched.location = "integers.py:81:5"} : (!tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #blocked1>, i32, i32) -> ()
    %14 = "arith.addi"(%11, %4) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:82:22"} : (i32, i32) -> i32
    %15 = "arith.truncf"(%high_4#0) {sched.location = "integers.py:82:34"} : (tensor<128x64xf32, #linear>) -> tensor<128x64xf16, #linear>
    %16 = "ttg.convert_layout"(%15) {sched.trivial = false, sched.location = "integers.py:82:5"} : (tensor<128x64xf16, #linear>) -> tensor<128x64xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %16, %8, %14) {sched.location = "integers.py:82:5"} : (!tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "integers.py:71:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
