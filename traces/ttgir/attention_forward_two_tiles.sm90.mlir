// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, f32, i32) -> (), sym_name = "attention_forward_two_tiles", sym_visibility = "public"}> ({
  ^bb0(%arg0: !tt.tensordesc<64x128xf16, #shared>, %arg1: i32, %arg2: i32, %arg3: i64, %arg4: i64, %arg5: !tt.tensordesc<128x128xf16, #shared>, %arg6: i32, %arg7: i32, %arg8: i64, %arg9: i64, %arg10: !tt.tensordesc<128x128xf16, #shared>, %arg11: i32, %arg12: i32, %arg13: i64, %arg14: i64, %arg15: !tt.tensordesc<64x128xf16, #shared>, %arg16: i32, %arg17: i32, %arg18: i64, %arg19: i64, %arg20: f32, %arg21: i32):
    %0 = "arith.constant"() <{value = 128 : i32}> : () -> i32
    %1 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 1.44269502 : f32}> {sched.location = "attention_forward.py:27:18", sched.name = "log2_scale"} : () -> f32
    %4 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>}> : () -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %5 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x128xf32, #mma>}> : () -> tensor<64x128xf32, #mma>
    %6 = "arith.constant"() <{value = dense<0xFF800000> : tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>}> : () -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %7 = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "attention_forward.py:17:12", sched.name = "head"} : () -> i32
    %8 = "arith.muli"(%7, %arg21) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_forward.py:17:12", sched.name = "head"} : (i32, i32) -> i32
    %9 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "attention_forward.py:18:18", sched.name = "row"} : () -> i32
    %10 = "arith.muli"(%9, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_forward.py:18:18", sched.name = "row"} : (i32, i32) -> i32
    %11 = "arith.addi"(%8, %10) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_forward.py:18:11", sched.name = "row"} : (i32, i32) -> i32
    %12 = "tt.descriptor_load"(%arg0, %11, %1) {sched.location = "attention_forward.py:19:10", sched.name = "q0"} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked>
    %13 = "ttg.local_alloc"(%12) {sched.location = "attention_forward.py:19:10", sched.name = "q0"} : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
    %14 = "arith.addi"(%11, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_forward.py:20:23", sched.name = "q1"} : (i32, i32) -> i32
    %15 = "tt.descriptor_load"(%arg0, %14, %1) {sched.location = "attention_forward.py:20:10", sched.name = "q1"} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked>
    %16 = "ttg.local_alloc"(%15) {sched.location = "attention_forward.py:20:10", sched.name = "q1"} : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
    %17 = "arith.mulf"(%arg20, %3) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:27:18", sched.name = "log2_scale"} : (f32, f32) -> f32
    %18 = "tt.splat"(%17) {sched.location = "attention_forward.py:34:29", sched.name = "n0"} : (f32) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %19 = "tt.splat"(%17) {sched.location = "attention_forward.py:35:22", sched.name = "p0"} : (f32) -> tensor<64x128xf32, #mma>
    %20:6 = "scf.for"(%1, %arg21, %0, %6, %6, %4, %4, %5, %5) ({
    ^bb0(%arg22: i32, %arg23: tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %arg24: tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %arg25: tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %arg26: tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %arg27: tensor<64x128xf32, #mma>, %arg28: tensor<64x128xf32, #mma>):
      %31 = "arith.addi"(%8, %arg22) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_forward.py:29:26", sched.name = "k"} : (i32, i32) -> i32
      %32 = "tt.descriptor_load"(%arg5, %31, %1) {sched.location = "attention_forward.py:29:13", sched.name = "k"} : (!tt.tensordesc<128x128xf16, #shared>, i32, i32) -> tensor<128x128xf16, #blocked>
      %33 = "tt.descriptor_load"(%arg10, %31, %1) {sched.location = "attention_forward.py:30:13", sched.name = "v"} : (!tt.tensordesc<128x128xf16, #shared>, i32, i32) -> tensor<128x128xf16, #blocked>
      %34 = "ttg.local_alloc"(%33) {sched.location = "attention_forward.py:30:13", sched.name = "v"} : (tensor<128x128xf16, #blocked>) -> !ttg.memdesc<128x128xf16, #shared, #smem>
      %35 = "ttg.local_alloc"(%32) {sched.location = "attention_forward.py:31:25", sched.name = "s0"} : (tensor<128x128xf16, #blocked>) -> !ttg.memdesc<128x128xf16, #shared, #smem>
      %36 = "ttg.memdesc_trans"(%35) <{order = array<i32: 1, 0>}> {sched.location = "attention_forward.py:31:25", sched.name = "s0"} : (!ttg.memdesc<128x128xf16, #shared, #smem>) -> !ttg.memdesc<128x128xf16, #shared1, #smem>
      %37 = "ttng.warp_group_dot"(%13, %36, %5) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "attention_forward.py:31:14", sched.name = "s0"} : (!ttg.memdesc<64x128xf16, #shared, #smem>, !ttg.memdesc<128x128xf16, #shared1, #smem>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %38 = "ttng.warp_group_dot"(%16, %36, %5) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "attention_forward.py:32:14", sched.name = "s1"} : (!ttg.memdesc<64x128xf16, #shared, #smem>, !ttg.memdesc<128x128xf16, #shared1, #smem>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %39 = "tt.reduce"(%37) <{axis = 1 : i32}> ({
      ^bb0(%arg35: f32, %arg36: f32):
        %80 = "arith.maxnumf"(%arg35, %arg36) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:34:29", sched.name = "n0"} : (f32, f32) -> f32
        "tt.reduce.return"(%80) : (f32) -> ()
      }) {sched.location = "attention_forward.py:34:29", sched.name = "n0"} : (tensor<64x128xf32, #mma>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %40 = "arith.mulf"(%39, %18) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:34:29", sched.name = "n0"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %41 = "arith.maxnumf"(%arg23, %40) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:34:14", sched.name = "n0"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %42 = "arith.mulf"(%37, %19) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:35:22", sched.name = "p0"} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %43 = "tt.expand_dims"(%41) <{axis = 1 : i32}> {sched.location = "attention_forward.py:35:40", sched.name = "p0"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
      %44 = "tt.broadcast"(%43) {sched.location = "attention_forward.py:35:22", sched.name = "p0"} : (tensor<64x1xf32, #mma>) -> tensor<64x128xf32, #mma>
      %45 = "arith.subf"(%42, %44) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:35:22", sched.name = "p0"} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %46 = "math.exp2"(%45) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:35:14", sched.name = "p0"} : (tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %47 = "arith.subf"(%arg23, %41) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:36:22", sched.name = "a0"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %48 = "math.exp2"(%47) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:36:14", sched.name = "a0"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %49 = "arith.mulf"(%arg25, %48) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:37:14", sched.name = "l0"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %50 = "tt.reduce"(%46) <{axis = 1 : i32}> ({
      ^bb0(%arg33: f32, %arg34: f32):
        %79 = "arith.addf"(%arg33, %arg34) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:37:24", sched.name = "l0"} : (f32, f32) -> f32
        "tt.reduce.return"(%79) : (f32) -> ()
      }) {sched.location = "attention_forward.py:37:24", sched.name = "l0"} : (tensor<64x128xf32, #mma>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %51 = "arith.addf"(%49, %50) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:37:14", sched.name = "l0"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %52 = "arith.truncf"(%46) {sched.location = "attention_forward.py:38:21", sched.name = "o0"} : (tensor<64x128xf32, #mma>) -> tensor<64x128xf16, #mma>
      %53 = "tt.expand_dims"(%48) <{axis = 1 : i32}> {sched.location = "attention_forward.py:38:48", sched.name = "o0"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
      %54 = "tt.broadcast"(%53) {sched.location = "attention_forward.py:38:43", sched.name = "o0"} : (tensor<64x1xf32, #mma>) -> tensor<64x128xf32, #mma>
      %55 = "arith.mulf"(%arg27, %54) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:38:43", sched.name = "o0"} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %56 = "ttg.convert_layout"(%52) {sched.location = "attention_forward.py:38:21", sched.name = "o0", sched.trivial = true} : (tensor<64x128xf16, #mma>) -> tensor<64x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
      %57 = "ttng.warp_group_dot"(%56, %34, %55) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "attention_forward.py:38:14", sched.name = "o0"} : (tensor<64x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, !ttg.memdesc<128x128xf16, #shared, #smem>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %58 = "tt.reduce"(%38) <{axis = 1 : i32}> ({
      ^bb0(%arg31: f32, %arg32: f32):
        %78 = "arith.maxnumf"(%arg31, %arg32) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:41:29", sched.name = "n1"} : (f32, f32) -> f32
        "tt.reduce.return"(%78) : (f32) -> ()
      }) {sched.location = "attention_forward.py:41:29", sched.name = "n1"} : (tensor<64x128xf32, #mma>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %59 = "arith.mulf"(%58, %18) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:41:29", sched.name = "n1"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %60 = "arith.maxnumf"(%arg24, %59) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:41:14", sched.name = "n1"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %61 = "arith.mulf"(%38, %19) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:42:22", sched.name = "p1"} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %62 = "tt.expand_dims"(%60) <{axis = 1 : i32}> {sched.location = "attention_forward.py:42:40", sched.name = "p1"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
      %63 = "tt.broadcast"(%62) {sched.location = "attention_forward.py:42:22", sched.name = "p1"} : (tensor<64x1xf32, #mma>) -> tensor<64x128xf32, #mma>
      %64 = "arith.subf"(%61, %63) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:42:22", sched.name = "p1"} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %65 = "math.exp2"(%64) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:42:14", sched.name = "p1"} : (tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %66 = "arith.subf"(%arg24, %60) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:43:22", sched.name = "a1"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %67 = "math.exp2"(%66) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:43:14", sched.name = "a1"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %68 = "arith.mulf"(%arg26, %67) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:44:14", sched.name = "l1"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %69 = "tt.reduce"(%65) <{axis = 1 : i32}> ({
      ^bb0(%arg29: f32, %arg30: f32):
        %77 = "arith.addf"(%arg29, %arg30) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:44:24", sched.name = "l1"} : (f32, f32) -> f32
        "tt.reduce.return"(%77) : (f32) -> ()
      }) {sched.location = "attention_forward.py:44:24", sched.name = "l1"} : (tensor<64x128xf32, #mma>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %70 = "arith.addf"(%68, %69) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:44:14", sched.name = "l1"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %71 = "arith.truncf"(%65) {sched.location = "attention_forward.py:45:21", sched.name = "o1"} : (tensor<64x128xf32, #mma>) -> tensor<64x128xf16, #mma>
      %72 = "tt.expand_dims"(%67) <{axis = 1 : i32}> {sched.location = "attention_forward.py:45:48", sched.name = "o1"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
      %73 = "tt.broadcast"(%72) {sched.location = "attention_forward.py:45:43", sched.name = "o1"} : (tensor<64x1xf32, #mma>) -> tensor<64x128xf32, #mma>
      %74 = "arith.mulf"(%arg28, %73) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:45:43", sched.name = "o1"} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %75 = "ttg.convert_layout"(%71) {sched.location = "attention_forward.py:45:21", sched.name = "o1", sched.trivial = true} : (tensor<64x128xf16, #mma>) -> tensor<64x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
      %76 = "ttng.warp_group_dot"(%75, %34, %74) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "attention_forward.py:45:14", sched.name = "o1"} : (tensor<64x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, !ttg.memdesc<128x128xf16, #shared, #smem>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      "scf.yield"(%41, %60, %51, %70, %57, %76) : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> ()
    }) {sched.location = "attention_forward.py:28:5", sched.name = "o1"} : (i32, i32, i32, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>)
    %21 = "tt.expand_dims"(%20#2) <{axis = 1 : i32}> {sched.location = "attention_forward.py:47:34"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
    %22 = "tt.broadcast"(%21) {sched.location = "attention_forward.py:47:29"} : (tensor<64x1xf32, #mma>) -> tensor<64x128xf32, #mma>
    %23 = "arith.divf"(%20#4, %22) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:47:29"} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
    %24 = "arith.truncf"(%23) {sched.location = "attention_forward.py:47:28"} : (tensor<64x128xf32, #mma>) -> tensor<64x128xf16, #mma>
    %25 = "ttg.convert_layout"(%24) {sched.location = "attention_forward.py:47:5", sched.trivial = false} : (tensor<64x128xf16, #mma>) -> tensor<64x128xf16, #blocked>
    "tt.descriptor_store"(%arg15, %25, %11, %1) : (!tt.tensordesc<64x128xf16, #shared>, tensor<64x128xf16, #blocked>, i32, i32) -> ()
    %26 = "tt.expand_dims"(%20#3) <{axis = 1 : i32}> {sched.location = "attention_forward.py:48:38"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
    %27 = "tt.broadcast"(%26) {sched.location = "attention_forward.py:48:33"} : (tensor<64x1xf32, #mma>) -> tensor<64x128xf32, #mma>
    %28 = "arith.divf"(%20#5, %27) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:48:33"} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
    %29 = "arith.truncf"(%28) {sched.location = "attention_forward.py:48:32"} : (tensor<64x128xf32, #mma>) -> tensor<64x128xf16, #mma>
    %30 = "ttg.convert_layout"(%29) {sched.location = "attention_forward.py:48:5", sched.trivial = false} : (tensor<64x128xf16, #mma>) -> tensor<64x128xf16, #blocked>
    "tt.descriptor_store"(%arg15, %30, %14, %1) : (!tt.tensordesc<64x128xf16, #shared>, tensor<64x128xf16, #blocked>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
