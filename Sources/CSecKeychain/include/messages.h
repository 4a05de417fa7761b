/* The names of result codes, for the library's log. */
#ifndef TOKENKIT_MESSAGES_H
#define TOKENKIT_MESSAGES_H

#include "SecKeychain.h"

/* The name in the header, `errSecParam`; NULL for a code without one. */
const char *tokenkit_code_name(OSStatus code);

#endif
