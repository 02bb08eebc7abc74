// triton 3.9.0, sm_100
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#linear = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, i32) -> (), sym_name = "two_layers", sym_visibility = "public"}> ({
  ^bb0(%x_desc: !tt.tensordesc<128x64xf16, #shared>, %x_desc.shape.0: i32, %x_desc.shape.1: i32, %x_desc.stride.0: i64, %x_desc.stride.1: i64, %first_desc: !tt.tensordesc<64x64xf16, #shared>, %first_desc.shape.0: i32, %first_desc.shape.1: i32, %first_desc.stride.0: i64, %first_desc.stride.1: i64, %second_desc: !tt.tensordesc<64x64xf16, #shared>, %second_desc.shape.0: i32, %second_desc.shape.1: i32, %second_desc.stride.0: i64, %second_desc.stride.1: i64, %y_desc: !tt.tensordesc<128x64xf16, #shared>, %y_desc.shape.0: i32, %y_desc.shape.1: i32, %y_desc.stride.0: i64, %y_desc.stride.1: i64, %width: i32):
    %0 = "arith.constant"() <{value = false}> : () -> i1
    %1 = "arith.constant"() <{value = true}> : () -> i1
    %row = "arith.constant"() <{value = 128 : i32}> {sched.location = "others.py:76:11", sched.name = "row"} : () -> i32
    %2 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 64 : i32}> {sched.location = "others.py:79:5"} : () -> i32
    %4 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x64xf32, #linear>}> : () -> tensor<128x64xf32, #linear>
    %row_0 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "others.py:76:11", sched.name = "row"} : () -> i32
    %row_1 = "arith.muli"(%row_0, %row) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:76:11", sched.name = "row"} : (i32, i32) -> i32
    %x = "tt.descriptor_load"(%x_desc, %row_1, %2) {sched.location = "others.py:77:9", sched.name = "x"} : (!tt.tensordesc<128x64xf16, #shared>, i32, i32) -> tensor<128x64xf16, #blocked>
    %x_2 = "ttg.local_alloc"(%x) {sched.location = "others.py:77:9", sched.name = "x"} : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
    %h:2 = "ttng.tmem_alloc"() {sched.location = "others.py:82:24", sched.name = "h"} : () -> (!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %y:2 = "ttng.tmem_alloc"() {sched.location = "others.py:83:13", sched.name = "y"} : () -> (!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %y_3 = "ttng.tmem_store"(%y#0, %y#1, %4, %1) {sched.location = "others.py:83:13", sched.name = "y"} : (!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, tensor<128x64xf32, #linear>, i1) -> !ttg.async.token
    %y_4:3 = "scf.for"(%2, %width, %3, %0, %h#1, %y_3) ({
    ^bb0(%hidden: i32, %y_6: i1, %h_7: !ttg.async.token, %y_8: !ttg.async.token):
      %first = "tt.descriptor_load"(%first_desc, %2, %hidden) {sched.location = "others.py:80:17", sched.name = "first", sched.stage = 0 : i32, sched.cluster = 3 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
      %first_9 = "ttg.local_alloc"(%first) {sched.location = "others.py:80:17", sched.name = "first", sched.stage = 2 : i32, sched.cluster = 1 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %second = "tt.descriptor_load"(%second_desc, %hidden, %2) {sched.location = "others.py:81:18", sched.name = "second", sched.stage = 1 : i32, sched.cluster = 2 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
      %second_10 = "ttg.local_alloc"(%second) {sched.location = "others.py:81:18", sched.name = "second", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %h_11 = "ttng.tc_gen5_mma"(%x_2, %first_9, %h#0, %h_7, %0, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "others.py:82:24", sched.name = "h", sched.stage = 2 : i32, sched.cluster = 1 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
      %h_12:2 = "ttng.tmem_load"(%h#0, %h_11) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "others.py:82:24", sched.name = "h", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x64xf32, #linear>, !ttg.async.token)
      %h_13 = "arith.maxnumf"(%h_12#0, %4) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:82:13", sched.name = "h", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #linear>, tensor<128x64xf32, #linear>) -> tensor<128x64xf32, #linear>
      %y_14 = "arith.truncf"(%h_13) {sched.location = "others.py:83:20", sched.name = "y", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #linear>) -> tensor<128x64xf16, #linear>
      %y_15 = "ttng.tmem_alloc"(%y_14) {sched.location = "others.py:83:13", sched.name = "y", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #linear>) -> !ttg.memdesc<128x64xf16, #tmem, #ttng.tensor_memory>
      %y_16 = "ttng.tc_gen5_mma"(%y_15, %second_10, %y#0, %y_8, %y_6, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "others.py:83:13", sched.name = "y", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<128x64xf16, #tmem, #ttng.tensor_memory>, !ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
      "scf.yield"(%1, %h_12#1, %y_16) : (i1, !ttg.async.token, !ttg.async.token) -> ()
    }) {sched.location = "others.py:79:5", sched.name = "hidden"} : (i32, i32, i32, i1, !ttg.async.token, !ttg.async.token) -> (i1, !ttg.async.token, !ttg.async.token)
    %y_5:2 = "ttng.tmem_load"(%y#0, %y_4#2) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "others.py:83:13", sched.name = "y"} : (!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x64xf32, #linear>, !ttg.async.token)
    %5 = "arith.truncf"(%y_5#0) {sched.location = "others.py:84:28"} : (tensor<128x64xf32, #linear>) -> tensor<128x64xf16, #linear>
    %6 = "ttg.convert_layout"(%5) {sched.trivial = false, sched.location = "others.py:84:5"} : (tensor<128x64xf16, #linear>) -> tensor<128x64xf16, #blocked>
    "tt.descriptor_store"(%y_desc, %6, %row_1, %2) {sched.location = "others.py:84:5"} : (!tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #blocked>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "others.py:65:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
