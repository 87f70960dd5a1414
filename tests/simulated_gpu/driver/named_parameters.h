// The lists of a library's functions have types without names. These macros name the parameters a,
// b, c, … From "(int, char)", PACE_NAMED makes "int a, char b" and PACE_NAMES makes "a, b".
#pragma once

#define PACE_NAMED_0()
#define PACE_NAMED_1(A) A a
#define PACE_NAMED_2(A, B) A a, B b
#define PACE_NAMED_3(A, B, C) A a, B b, C c
#define PACE_NAMED_4(A, B, C, D) A a, B b, C c, D d
#define PACE_NAMED_5(A, B, C, D, E) A a, B b, C c, D d, E e
#define PACE_NAMED_6(A, B, C, D, E, F) A a, B b, C c, D d, E e, F f
#define PACE_NAMED_7(A, B, C, D, E, F, G) A a, B b, C c, D d, E e, F f, G g
#define PACE_NAMES_0
#define PACE_NAMES_1 a
#define PACE_NAMES_2 a, b
#define PACE_NAMES_3 a, b, c
#define PACE_NAMES_4 a, b, c, d
#define PACE_NAMES_5 a, b, c, d, e
#define PACE_NAMES_6 a, b, c, d, e, f
#define PACE_NAMES_7 a, b, c, d, e, f, g
#define PACE_FIRST_AFTER_SEVEN(a, b, c, d, e, f, g, count, ...) count
#define PACE_COUNT(...) PACE_FIRST_AFTER_SEVEN(__VA_ARGS__ __VA_OPT__(, ) 7, 6, 5, 4, 3, 2, 1, 0, )
#define PACE_JOIN_NOW(a, b) a##b
#define PACE_JOIN(a, b) PACE_JOIN_NOW(a, b)
#define PACE_NAMED(parameters) PACE_JOIN(PACE_NAMED_, PACE_COUNT parameters) parameters
#define PACE_NAMES(parameters) PACE_JOIN(PACE_NAMES_, PACE_COUNT parameters)
