#include <PCSC/reader.h>
