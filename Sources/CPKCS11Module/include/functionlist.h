/* functionlist.c has the three functions that the module exports. PKCS #11 3.0, sections 5.4.4 to 5.4.6. */
#ifndef TOKENKIT_FUNCTIONLIST_H
#define TOKENKIT_FUNCTIONLIST_H

#include <limits.h>
#include <stdint.h>

/* The path that the module was loaded from; NULL where it is unknown. */
const char *tokenkit_module_path(void);

/* The folder of the module's file, without symbolic links; 0 where it is unknown. */
int32_t tokenkit_module_folder(char folder[PATH_MAX]);

#endif
