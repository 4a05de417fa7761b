#include "modulestate.h"

static struct tokenkit_attributes attributes[tokenkit_connection_count];
static struct tokenkit_signature begun_signature;

struct tokenkit_attributes *tokenkit_attributes_of(int32_t index) { return &attributes[index]; }

struct tokenkit_signature *tokenkit_begun_signature(void) { return &begun_signature; }
