#pragma once

// The access to modules that only p11-kit can reach. p11-kit's headers declare the structures of PKCS #11 under the same names as
// CCryptoki. Swift must see only one of the two.

/// Loads the modules that p11-kit has configured for a program, and keeps the one with the name. p11_kit_modules_load(3)
///
/// \returns the module's CK_FUNCTION_LIST; NULL where no module has that name.
void *cp11kit_module(const char *program, const char *name);
