#pragma once
#include <stddef.h>

// p11-kit's URIs of PKCS #11 (RFC 7512) as plain text and bytes. p11-kit hands out structures of PKCS #11, which CCryptoki
// declares under the same names: Swift is to see one of them.

/// A URI while it is read or written. p11_kit_uri_new(3) and the functions beside it.
typedef struct p11_kit_uri cp11kit_uri;

/// What a URI says as text.
typedef enum {
    CP11KIT_TOKEN,
    CP11KIT_TOKEN_MANUFACTURER,
    CP11KIT_TOKEN_SERIAL,
    CP11KIT_TOKEN_MODEL,
    CP11KIT_LIBRARY_MANUFACTURER,
    CP11KIT_LIBRARY_DESCRIPTION,
    CP11KIT_SLOT_MANUFACTURER,
    CP11KIT_SLOT_DESCRIPTION,
    CP11KIT_OBJECT,
    CP11KIT_ID,
    CP11KIT_PIN_SOURCE,
    CP11KIT_MODULE_NAME,
    CP11KIT_MODULE_PATH,
} cp11kit_part;

/// What an object is, by the names of RFC 7512.
typedef enum {
    CP11KIT_ANY_OBJECT,
    CP11KIT_CERTIFICATE,
    CP11KIT_PUBLIC_KEY,
    CP11KIT_PRIVATE_KEY,
    CP11KIT_SECRET_KEY,
    CP11KIT_DATA,
    CP11KIT_OTHER_OBJECT,
} cp11kit_kind;

/// An empty URI; NULL for no memory.
cp11kit_uri *cp11kit_new(void);

/// Overwrites what there is of a PIN, and frees the rest as well.
void cp11kit_free(cp11kit_uri *uri);

/// Reads a URI.
///
/// \returns NULL, or what is wrong with the text, which stays valid.
const char *cp11kit_parse(cp11kit_uri *uri, const char *text);

/// Whether there was an attribute or a value in the path that p11-kit does not know.
int cp11kit_has_unknown(cp11kit_uri *uri);

/// The bytes of a part, without the blanks that fill a field.
///
/// \returns NULL where the URI does not say. What is returned is valid until the URI is changed or freed.
const unsigned char *cp11kit_get(cp11kit_uri *uri, cp11kit_part part, size_t *length);

/// Sets a part.
///
/// \returns whether there was room for it.
int cp11kit_set(cp11kit_uri *uri, cp11kit_part part, const unsigned char *bytes, size_t length);

cp11kit_kind cp11kit_get_kind(cp11kit_uri *uri);
int cp11kit_set_kind(cp11kit_uri *uri, cp11kit_kind kind);

/// The number of the slot; -1 where the URI does not say.
long cp11kit_get_slot(cp11kit_uri *uri);
void cp11kit_set_slot(cp11kit_uri *uri, long slot);

/// The version of the library, 256 times the first number and the second; -1 where the URI does not say.
int cp11kit_get_version(cp11kit_uri *uri);
void cp11kit_set_version(cp11kit_uri *uri, int version);

/// The PIN; NULL where the URI has none.
const char *cp11kit_get_pin(cp11kit_uri *uri);

/// Writes a URI; NULL where that fails. What is returned is to be freed.
char *cp11kit_format(cp11kit_uri *uri);

/// Loads the modules that p11-kit has configured for a program, and keeps the one it calls so. p11_kit_modules_load(3)
///
/// \returns its CK_FUNCTION_LIST; NULL where there is none of that name.
void *cp11kit_module(const char *program, const char *name);
