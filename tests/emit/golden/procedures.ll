define internal void @largest(ptr %c) noinline {
entry.:
  %l1 = alloca double
  %l8 = alloca i64
  %l32 = alloca double
  br label %start.
start.:
  store double 0x0000000000000000, ptr %l1
  %v2 = getelementptr i64, ptr %c, i64 1
  %v3 = load i64, ptr %v2
  store i64 0, ptr %l8
  br label %label4
label4:
  %v9 = load i64, ptr %l8
  %v10 = icmp slt i64 %v9, %v3
  br i1 %v10, label %label5, label %label7
label5:
  %v11 = load double, ptr %l1
  %v12 = getelementptr ptr, ptr %c, i64 0
  %v13 = load ptr, ptr %v12
  %v14 = getelementptr double, ptr %v13, i64 %v9
  %v15 = load double, ptr %v14
  %v16.other = fcmp ogt double %v15, %v11
  %v16.extreme = select i1 %v16.other, double %v15, double %v11
  %v16.nan = fcmp uno double %v11, %v11
  %v16 = select i1 %v16.nan, double %v15, double %v16.extreme
  store double %v16, ptr %l1
  br label %label6
label6:
  %v17 = add i64 %v9, 1
  store i64 %v17, ptr %l8
  br label %label4
label7:
  %v18 = load double, ptr %l1
  %v19 = getelementptr double, ptr %c, i64 2
  store double %v18, ptr %v19
  %v24 = getelementptr ptr, ptr %c, i64 3
  %v25 = load ptr, ptr %v24
  %v26 = icmp ne ptr %v25, null
  br i1 %v26, label %label23, label %label21
label23:
  %v27 = load double, ptr %l1
  %v28 = fcmp olt double %v27, 0x3FF8000000000000
  br i1 %v28, label %label21, label %label20
label20:
  %v29 = getelementptr ptr, ptr %c, i64 3
  %v30 = load ptr, ptr %v29
  %v31 = load double, ptr %l1
  store double %v31, ptr %l32
  call void %v30(ptr %l32)
  br label %label22
label21:
  br label %label22
label22:
  ret void
}

define i64 @halves(ptr %c, double %least) {
entry.:
  %l7 = alloca double
  %l8 = alloca i64
  br label %start.
start.:
  %v4 = fcmp ogt double %least, 0x0000000000000000
  br i1 %v4, label %label2, label %label1
label1:
  ret i64 -1
label2:
  br label %label3
label3:
  call void @largest(ptr %c)
  %v5 = getelementptr double, ptr %c, i64 2
  %v6 = load double, ptr %v5
  store double %v6, ptr %l7
  store i64 0, ptr %l8
  br label %label9
label9:
  %v13 = load double, ptr %l7
  %v14 = fcmp olt double %v13, %least
  br i1 %v14, label %label11, label %label10
label10:
  %v15 = load double, ptr %l7
  %v16 = fdiv double %v15, 0x4000000000000000
  store double %v16, ptr %l7
  %v17 = load i64, ptr %l8
  %v18 = add i64 %v17, 1
  store i64 %v18, ptr %l8
  br label %label9
label11:
  br label %label12
label12:
  %v19 = load i64, ptr %l8
  ret i64 %v19
}

declare double @llvm.sqrt.f64(double)

declare double @llvm.fabs.f64(double)

declare double @llvm.fma.f64(double, double, double)
