#include <PCSC/winscard.h>
