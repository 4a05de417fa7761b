#pragma once

// The way to modules that only p11-kit knows how to reach. It hands out structures of PKCS #11, which CCryptoki declares under
// the same names: Swift is to see one of them.

/// Loads the modules that p11-kit has configured for a program, and keeps the one it calls so. p11_kit_modules_load(3)
///
/// \returns its CK_FUNCTION_LIST; NULL where there is none of that name.
void *cp11kit_module(const char *program, const char *name);
