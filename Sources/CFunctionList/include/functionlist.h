/* The three functions that the module exports, and what they give out. PKCS #11 3.0, sections 5.4.4 to 5.4.6. */
#ifndef TOKENKIT_FUNCTIONLIST_H
#define TOKENKIT_FUNCTIONLIST_H

/* Where the module was loaded from; NULL where that cannot be told. */
const char *tokenkit_module_path(void);

/* How many threads are about to hold what an address that they have read points to. In C, since no compiler moves what they do
 * with it past these calls. */
void tokenkit_begin_taking(void);
void tokenkit_end_taking(void);
int tokenkit_is_taking(void);

#endif
