#include "copenssl.h"
