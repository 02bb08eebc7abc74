// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, i32) -> (), sym_name = "two_layers", sym_visibility = "public"}> ({
  ^bb0(%x_desc: !tt.tensordesc<64x64xf16, #shared>, %x_desc.shape.0: i32, %x_desc.shape.1: i32, %x_desc.stride.0: i64, %x_desc.stride.1: i64, %first_desc: !tt.tensordesc<64x64xf16, #shared>, %first_desc.shape.0: i32, %first_desc.shape.1: i32, %first_desc.stride.0: i64, %first_desc.stride.1: i64, %second_desc: !tt.tensordesc<64x64xf16, #shared>, %second_desc.shape.0: i32, %second_desc.shape.1: i32, %second_desc.stride.0: i64, %second_desc.stride.1: i64, %y_desc: !tt.tensordesc<64x64xf16, #shared>, %y_desc.shape.0: i32, %y_desc.shape.1: i32, %y_desc.stride.0: i64, %y_desc.stride.1: i64, %width: i32):
    %0 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %1 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x64xf32, #mma>}> : () -> tensor<64x64xf32, #mma>
    %row = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "others.py:76:11", sched.name = "row"} : () -> i32
    %row_0 = "arith.muli"(%row, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:76:11", sched.name = "row"} : (i32, i32) -> i32
    %x = "tt.descriptor_load"(%x_desc, %row_0, %1) {sched.location = "others.py:77:9", sched.name = "x"} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
    %x_1 = "ttg.local_alloc"(%x) {sched.location = "others.py:77:9", sched.name = "x"} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %y = "scf.for"(%1, %width, %0, %2) ({
    ^bb0(%hidden: i32, %y_2: tensor<64x64xf32, #mma>):
      %first = "tt.descriptor_load"(%first_desc, %1, %hidden) {sched.location = "others.py:80:17", sched.name = "first", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
      %first_3 = "ttg.local_alloc"(%first) {sched.location = "others.py:80:17", sched.name = "first", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %second = "tt.descriptor_load"(%second_desc, %hidden, %1) {sched.location = "others.py:81:18", sched.name = "second", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
      %second_4 = "ttg.local_alloc"(%second) {sched.location = "others.py:81:18", sched.name = "second", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %h = "ttng.warp_group_dot"(%x_1, %first_3, %2) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "others.py:82:24", sched.name = "h", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 5 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<64x64xf16, #shared, #smem>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %h_5 = "arith.maxnumf"(%h, %2) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:82:13", sched.name = "h", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %y_6 = "arith.truncf"(%h_5) {sched.location = "others.py:83:20", sched.name = "y", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>) -> tensor<64x64xf16, #mma>
      %y_7 = "ttg.convert_layout"(%y_6) {sched.trivial = true, sched.location = "others.py:83:20", sched.name = "y", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #mma>) -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
      %y_8 = "ttng.warp_group_dot"(%y_7, %second_4, %y_2) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "others.py:83:13", sched.name = "y", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 5 : i32} : (tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, !ttg.memdesc<64x64xf16, #shared, #smem>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      "scf.yield"(%y_8) : (tensor<64x64xf32, #mma>) -> ()
    }) {sched.location = "others.py:79:5", sched.name = "hidden"} : (i32, i32, i32, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
    %3 = "arith.truncf"(%y) {sched.location = "others.py:84:28"} : (tensor<64x64xf32, #mma>) -> tensor<64x64xf16, #mma>
    %4 = "ttg.convert_layout"(%3) {sched.trivial = false, sched.location = "others.py:84:5"} : (tensor<64x64xf16, #mma>) -> tensor<64x64xf16, #blocked>
    "tt.descriptor_store"(%y_desc, %4, %row_0, %1) {sched.location = "others.py:84:5"} : (!tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #blocked>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "others.py:65:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
