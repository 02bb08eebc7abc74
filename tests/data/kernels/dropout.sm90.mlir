// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<16x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<16x64xf16, #shared>, i32, i32, i64, i64, i32, i32) -> (), sym_name = "dropout", sym_visibility = "public"}> ({
  ^bb0(%x_desc: !tt.tensordesc<16x64xf16, #shared>, %x_desc.shape.0: i32, %x_desc.shape.1: i32, %x_desc.stride.0: i64, %x_desc.stride.1: i64, %y_desc: !tt.tensordesc<16x64xf16, #shared>, %y_desc.shape.0: i32, %y_desc.shape.1: i32, %y_desc.stride.0: i64, %y_desc.stride.1: i64, %rows: i32, %seed: i32):
    %0 = "arith.constant"() <{value = 1.000000e+00 : f32}> : () -> f32
    %1 = "arith.constant"() <{value = 7.500000e-01 : f32}> : () -> f32
    %2 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<16x64xf32, #blocked>}> : () -> tensor<16x64xf32, #blocked>
    %3 = "arith.constant"() <{value = 16 : i32}> {sched.location = "integers.py:11:5"} : () -> i32
    %4 = "arith.constant"() <{value = -1640531527 : i32}> : () -> i32
    %5 = "arith.constant"() <{value = -1150833019 : i32}> : () -> i32
    %6 = "arith.constant"() <{value = 1013904242 : i32}> : () -> i32
    %7 = "arith.constant"() <{value = 1993301258 : i32}> : () -> i32
    %8 = "arith.constant"() <{value = -626627285 : i32}> : () -> i32
    %9 = "arith.constant"() <{value = 842468239 : i32}> : () -> i32
    %10 = "arith.constant"() <{value = 2027808484 : i32}> : () -> i32
    %11 = "arith.constant"() <{value = -308364780 : i32}> : () -> i32
    %12 = "arith.constant"() <{value = 387276957 : i32}> : () -> i32
    %13 = "arith.constant"() <{value = -1459197799 : i32}> : () -> i32
    %14 = "arith.constant"() <{value = -1253254570 : i32}> : () -> i32
    %15 = "arith.constant"() <{value = 1684936478 : i32}> : () -> i32
    %16 = "arith.constant"() <{value = 1401181199 : i32}> : () -> i32
    %17 = "arith.constant"() <{value = 534103459 : i32}> : () -> i32
    %18 = "arith.constant"() <{value = -616729560 : i32}> : () -> i32
    %19 = "arith.constant"() <{value = -1879881855 : i32}> : () -> i32
    %20 = "arith.constant"() <{value = 4294967295 : i64}> : () -> i64
    %21 = "arith.constant"() <{value = 32 : i64}> : () -> i64
    %22 = "arith.constant"() <{value = -845247145 : i32}> : () -> i32
    %23 = "arith.constant"() <{value = -766435501 : i32}> : () -> i32
    %24 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %25 = "arith.constant"() <{value = dense<64> : tensor<16x1xi32, #blocked>}> : () -> tensor<16x1xi32, #blocked>
    %26 = "arith.constant"() <{value = dense<2.500000e-01> : tensor<16x64xf32, #blocked>}> : () -> tensor<16x64xf32, #blocked>
    %27 = "arith.constant"() <{value = dense<-766435501> : tensor<16x64xi32, #blocked>}> : () -> tensor<16x64xi32, #blocked>
    %28 = "arith.constant"() <{value = dense<-845247145> : tensor<16x64xi32, #blocked>}> : () -> tensor<16x64xi32, #blocked>
    %29 = "arith.constant"() <{value = dense<0> : tensor<16x64xi32, #blocked>}> : () -> tensor<16x64xi32, #blocked>
    %30 = "arith.constant"() <{value = dense<4.6566126E-10> : tensor<16x64xf32, #blocked>}> : () -> tensor<16x64xf32, #blocked>
    %31 = "arith.constant"() <{value = dense<-1> : tensor<16x64xi32, #blocked>}> : () -> tensor<16x64xi32, #blocked>
    %first = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "integers.py:10:13", sched.name = "first"} : () -> i32
    %first_0 = "arith.muli"(%first, %rows) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:10:13", sched.name = "first"} : (i32, i32) -> i32
    %at = "tt.make_range"() <{end = 16 : i32, start = 0 : i32}> {sched.location = "integers.py:13:27", sched.name = "at"} : () -> tensor<16xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %at_1 = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "integers.py:13:59", sched.name = "at"} : () -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
    %at_2 = "tt.expand_dims"(%at_1) <{axis = 0 : i32}> {sched.location = "integers.py:13:59", sched.name = "at"} : (tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked}>>) -> tensor<1x64xi32, #blocked>
    %at_3 = "tt.broadcast"(%at_2) {sched.location = "integers.py:13:14", sched.name = "at"} : (tensor<1x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
    %seed_4 = "arith.extsi"(%seed) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> i64
    %seed_hi = "arith.shrui"(%seed_4, %21) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i64, i64) -> i64
    %seed_hi_5 = "arith.andi"(%seed_hi, %20) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i64, i64) -> i64
    %seed_hi_6 = "arith.trunci"(%seed_hi_5) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (i64) -> i32
    %seed_lo = "arith.andi"(%seed_4, %20) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i64, i64) -> i64
    %seed_lo_7 = "arith.trunci"(%seed_lo) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (i64) -> i32
    %c0 = "tt.mulhiui"(%22, %24) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %c0_8 = "arith.xori"(%c0, %seed_lo_7) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %c2 = "tt.splat"(%seed_hi_6) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> tensor<16x64xi32, #blocked>
    %k0 = "arith.addi"(%seed_lo_7, %4) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %k1 = "arith.addi"(%seed_hi_6, %5) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %c0_9 = "tt.splat"(%k0) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> tensor<16x64xi32, #blocked>
    %c2_10 = "tt.mulhiui"(%23, %c0_8) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %c2_11 = "tt.splat"(%c2_10) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> tensor<16x64xi32, #blocked>
    %c2_12 = "tt.splat"(%k1) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> tensor<16x64xi32, #blocked>
    %c3 = "arith.muli"(%c0_8, %23) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %c3_13 = "tt.splat"(%c3) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> tensor<16x64xi32, #blocked>
    %k0_14 = "arith.addi"(%seed_lo_7, %6) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %k1_15 = "arith.addi"(%seed_hi_6, %7) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %c0_16 = "tt.splat"(%k0_14) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> tensor<16x64xi32, #blocked>
    %c2_17 = "tt.splat"(%k1_15) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> tensor<16x64xi32, #blocked>
    %k0_18 = "arith.addi"(%seed_lo_7, %8) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %k1_19 = "arith.addi"(%seed_hi_6, %9) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %c0_20 = "tt.splat"(%k0_18) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> tensor<16x64xi32, #blocked>
    %c2_21 = "tt.splat"(%k1_19) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> tensor<16x64xi32, #blocked>
    %k0_22 = "arith.addi"(%seed_lo_7, %10) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %k1_23 = "arith.addi"(%seed_hi_6, %11) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %c0_24 = "tt.splat"(%k0_22) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> tensor<16x64xi32, #blocked>
    %c2_25 = "tt.splat"(%k1_23) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> tensor<16x64xi32, #blocked>
    %k0_26 = "arith.addi"(%seed_lo_7, %12) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %k1_27 = "arith.addi"(%seed_hi_6, %13) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %c0_28 = "tt.splat"(%k0_26) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> tensor<16x64xi32, #blocked>
    %c2_29 = "tt.splat"(%k1_27) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> tensor<16x64xi32, #blocked>
    %k0_30 = "arith.addi"(%seed_lo_7, %14) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %k1_31 = "arith.addi"(%seed_hi_6, %15) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %c0_32 = "tt.splat"(%k0_30) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> tensor<16x64xi32, #blocked>
    %c2_33 = "tt.splat"(%k1_31) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> tensor<16x64xi32, #blocked>
    %k0_34 = "arith.addi"(%seed_lo_7, %16) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %k1_35 = "arith.addi"(%seed_hi_6, %17) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %c0_36 = "tt.splat"(%k0_34) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> tensor<16x64xi32, #blocked>
    %c2_37 = "tt.splat"(%k1_35) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> tensor<16x64xi32, #blocked>
    %k1_38 = "arith.addi"(%seed_hi_6, %18) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %c2_39 = "tt.splat"(%k1_38) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> tensor<16x64xi32, #blocked>
    %k0_40 = "arith.addi"(%seed_lo_7, %19) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32, i32) -> i32
    %c0_41 = "tt.splat"(%k0_40) {sched.location = "integers.py:14:16", sched.name = "keep"} : (i32) -> tensor<16x64xi32, #blocked>
    %32 = "tt.approx_divf"(%0, %1) {sched.location = "integers.py:15:53"} : (f32, f32) -> f32
    %33 = "tt.splat"(%32) {sched.location = "integers.py:15:53"} : (f32) -> tensor<16x64xf32, #blocked>
    "scf.for"(%24, %rows, %3) ({
    ^bb0(%r: i32):
      %x = "arith.addi"(%first_0, %r) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:12:26", sched.name = "x"} : (i32, i32) -> i32
      %x_42 = "tt.descriptor_load"(%x_desc, %x, %24) {sched.location = "integers.py:12:13", sched.name = "x"} : (!tt.tensordesc<16x64xf16, #shared>, i32, i32) -> tensor<16x64xf16, #blocked>
      %x_43 = "arith.extf"(%x_42) {sched.location = "integers.py:12:13", sched.name = "x"} : (tensor<16x64xf16, #blocked>) -> tensor<16x64xf32, #blocked>
      %at_44 = "tt.splat"(%x) {sched.location = "integers.py:13:15", sched.name = "at"} : (i32) -> tensor<16xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
      %at_45 = "arith.addi"(%at_44, %at) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:13:15", sched.name = "at"} : (tensor<16xi32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<16xi32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
      %at_46 = "tt.expand_dims"(%at_45) <{axis = 1 : i32}> {sched.location = "integers.py:13:14", sched.name = "at"} : (tensor<16xi32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16x1xi32, #blocked>
      %at_47 = "arith.muli"(%at_46, %25) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:13:14", sched.name = "at"} : (tensor<16x1xi32, #blocked>, tensor<16x1xi32, #blocked>) -> tensor<16x1xi32, #blocked>
      %at_48 = "tt.broadcast"(%at_47) {sched.location = "integers.py:13:14", sched.name = "at"} : (tensor<16x1xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %at_49 = "arith.addi"(%at_48, %at_3) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:13:14", sched.name = "at"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_50 = "tt.mulhiui"(%27, %at_49) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_51 = "arith.xori"(%c2_50, %c2) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c3_52 = "arith.muli"(%at_49, %27) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_53 = "tt.mulhiui"(%28, %c2_51) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_54 = "arith.xori"(%c0_53, %c0_9) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_55 = "arith.xori"(%c2_11, %c3_52) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_56 = "arith.xori"(%c2_55, %c2_12) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c1 = "arith.muli"(%c2_51, %28) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_57 = "tt.mulhiui"(%28, %c2_56) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_58 = "arith.xori"(%c0_57, %c1) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_59 = "arith.xori"(%c0_58, %c0_16) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_60 = "tt.mulhiui"(%27, %c0_54) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_61 = "arith.xori"(%c2_60, %c3_13) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_62 = "arith.xori"(%c2_61, %c2_17) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c1_63 = "arith.muli"(%c2_56, %28) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c3_64 = "arith.muli"(%c0_54, %27) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_65 = "tt.mulhiui"(%28, %c2_62) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_66 = "arith.xori"(%c0_65, %c1_63) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_67 = "arith.xori"(%c0_66, %c0_20) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_68 = "tt.mulhiui"(%27, %c0_59) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_69 = "arith.xori"(%c2_68, %c3_64) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_70 = "arith.xori"(%c2_69, %c2_21) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c1_71 = "arith.muli"(%c2_62, %28) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c3_72 = "arith.muli"(%c0_59, %27) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_73 = "tt.mulhiui"(%28, %c2_70) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_74 = "arith.xori"(%c0_73, %c1_71) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_75 = "arith.xori"(%c0_74, %c0_24) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_76 = "tt.mulhiui"(%27, %c0_67) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_77 = "arith.xori"(%c2_76, %c3_72) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_78 = "arith.xori"(%c2_77, %c2_25) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c1_79 = "arith.muli"(%c2_70, %28) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c3_80 = "arith.muli"(%c0_67, %27) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_81 = "tt.mulhiui"(%28, %c2_78) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_82 = "arith.xori"(%c0_81, %c1_79) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_83 = "arith.xori"(%c0_82, %c0_28) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_84 = "tt.mulhiui"(%27, %c0_75) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_85 = "arith.xori"(%c2_84, %c3_80) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_86 = "arith.xori"(%c2_85, %c2_29) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c1_87 = "arith.muli"(%c2_78, %28) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c3_88 = "arith.muli"(%c0_75, %27) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_89 = "tt.mulhiui"(%28, %c2_86) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_90 = "arith.xori"(%c0_89, %c1_87) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_91 = "arith.xori"(%c0_90, %c0_32) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_92 = "tt.mulhiui"(%27, %c0_83) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_93 = "arith.xori"(%c2_92, %c3_88) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_94 = "arith.xori"(%c2_93, %c2_33) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c1_95 = "arith.muli"(%c2_86, %28) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c3_96 = "arith.muli"(%c0_83, %27) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_97 = "tt.mulhiui"(%28, %c2_94) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_98 = "arith.xori"(%c0_97, %c1_95) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_99 = "arith.xori"(%c0_98, %c0_36) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_100 = "tt.mulhiui"(%27, %c0_91) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_101 = "arith.xori"(%c2_100, %c3_96) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_102 = "arith.xori"(%c2_101, %c2_37) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c3_103 = "arith.muli"(%c0_91, %27) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_104 = "tt.mulhiui"(%27, %c0_99) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_105 = "arith.xori"(%c2_104, %c3_103) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c2_106 = "arith.xori"(%c2_105, %c2_39) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c1_107 = "arith.muli"(%c2_102, %28) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_108 = "tt.mulhiui"(%28, %c2_106) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_109 = "arith.xori"(%c0_108, %c1_107) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %c0_110 = "arith.xori"(%c0_109, %c0_41) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %x_111 = "arith.cmpi"(%c0_110, %29) <{predicate = 2 : i64}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi1, #blocked>
      %x_112 = "arith.xori"(%c0_110, %31) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %x_113 = "arith.select"(%x_111, %x_112, %c0_110) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi1, #blocked>, tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %keep = "arith.sitofp"(%x_113) {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xi32, #blocked>) -> tensor<16x64xf32, #blocked>
      %keep_114 = "arith.mulf"(%keep, %30) <{fastmath = #arith.fastmath<none>}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xf32, #blocked>, tensor<16x64xf32, #blocked>) -> tensor<16x64xf32, #blocked>
      %keep_115 = "arith.cmpf"(%keep_114, %26) <{fastmath = #arith.fastmath<none>, predicate = 2 : i64}> {sched.location = "integers.py:14:16", sched.name = "keep"} : (tensor<16x64xf32, #blocked>, tensor<16x64xf32, #blocked>) -> tensor<16x64xi1, #blocked>
      %34 = "arith.mulf"(%x_43, %33) <{fastmath = #arith.fastmath<none>}> {sched.location = "integers.py:15:53"} : (tensor<16x64xf32, #blocked>, tensor<16x64xf32, #blocked>) -> tensor<16x64xf32, #blocked>
      %35 = "arith.select"(%keep_115, %34, %2) {sched.location = "integers.py:15:38"} : (tensor<16x64xi1, #blocked>, tensor<16x64xf32, #blocked>, tensor<16x64xf32, #blocked>) -> tensor<16x64xf32, #blocked>
      %36 = "arith.truncf"(%35) {sched.location = "integers.py:15:38"} : (tensor<16x64xf32, #blocked>) -> tensor<16x64xf16, #blocked>
      "tt.descriptor_store"(%y_desc, %36, %x, %24) {sched.location = "integers.py:15:9"} : (!tt.tensordesc<16x64xf16, #shared>, tensor<16x64xf16, #blocked>, i32, i32) -> ()
      "scf.yield"() : () -> ()
    }) {sched.location = "integers.py:11:5", sched.name = "r"} : (i32, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "integers.py:8:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
