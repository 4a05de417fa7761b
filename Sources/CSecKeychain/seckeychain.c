#include "SecKeychain.h"
