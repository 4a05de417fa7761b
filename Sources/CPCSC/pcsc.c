#include "cpcsc.h"
