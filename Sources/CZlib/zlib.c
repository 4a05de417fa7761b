#include "czlib.h"
