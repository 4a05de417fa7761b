/* functionlist.c has the three functions that the module exports. PKCS #11 3.0, sections 5.4.4 to 5.4.6. */
#ifndef TOKENKIT_FUNCTIONLIST_H
#define TOKENKIT_FUNCTIONLIST_H

/* The path that the module was loaded from; NULL where it is unknown. */
const char *tokenkit_module_path(void);

#endif
