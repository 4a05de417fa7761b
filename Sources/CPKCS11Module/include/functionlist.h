/* The three functions that the module exports, and what they give out. PKCS #11 3.0, sections 5.4.4 to 5.4.6. */
#ifndef TOKENKIT_FUNCTIONLIST_H
#define TOKENKIT_FUNCTIONLIST_H

/* Where the module was loaded from; NULL where that cannot be told. */
const char *tokenkit_module_path(void);

#endif
