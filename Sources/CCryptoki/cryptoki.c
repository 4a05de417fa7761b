#include "ccryptoki.h"
