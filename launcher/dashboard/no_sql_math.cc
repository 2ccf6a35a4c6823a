// In place of libm's functions behind SQL's sin(), pow() and their like: the static binary's copy
// of SQLite calls these (CMakeLists.txt). Their answer is NaN, which is SQL's NULL.
#include <limits>

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): names for a linker
#define NO_SQL_MATH(name)                                             \
  extern "C" double muster_no_sql_##name(double /*x*/, double /*y*/); \
  double muster_no_sql_##name(double /*x*/, double /*y*/) {           \
    return std::numeric_limits<double>::quiet_NaN();                  \
  }

NO_SQL_MATH(acos)
NO_SQL_MATH(acosh)
NO_SQL_MATH(asin)
NO_SQL_MATH(asinh)
NO_SQL_MATH(atan)
NO_SQL_MATH(atan2)
NO_SQL_MATH(atanh)
NO_SQL_MATH(cos)
NO_SQL_MATH(cosh)
NO_SQL_MATH(exp)
NO_SQL_MATH(pow)
NO_SQL_MATH(sin)
NO_SQL_MATH(sinh)
NO_SQL_MATH(tan)
NO_SQL_MATH(tanh)
