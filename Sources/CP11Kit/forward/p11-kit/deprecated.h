#include <p11-kit-1/p11-kit/deprecated.h>
