// For explicit_bzero(3).
#define _DEFAULT_SOURCE
// For p11_kit_set_progname, which has been there since 2012.
#define P11_KIT_FUTURE_UNSTABLE_API
#include "cp11kit.h"

#include <p11-kit-1/p11-kit/p11-kit.h>
#include <p11-kit-1/p11-kit/uri.h>
#include <stdlib.h>
#include <string.h>

cp11kit_uri *cp11kit_new(void) { return p11_kit_uri_new(); }

void cp11kit_free(cp11kit_uri *uri) {
    char *pin = (char *)p11_kit_uri_get_pin_value(uri);
    if (pin != NULL) explicit_bzero(pin, strlen(pin));
    p11_kit_uri_free(uri);
}

const char *cp11kit_parse(cp11kit_uri *uri, const char *text) {
    switch (p11_kit_uri_parse(text, P11_KIT_URI_FOR_ANY, uri)) {
    case P11_KIT_URI_OK: return NULL;
    case P11_KIT_URI_BAD_SCHEME: return "it does not begin with 'pkcs11:'";
    case P11_KIT_URI_BAD_ENCODING: return "a percent sign in it is not followed by two hexadecimal digits, or a value is too long";
    case P11_KIT_URI_BAD_SYNTAX: return "it is not made of names and values, as in token=card;id=%01";
    case P11_KIT_URI_BAD_VERSION: return "its library-version is none";
    default: return "it cannot be read";
    }
}

int cp11kit_has_unknown(cp11kit_uri *uri) { return p11_kit_uri_any_unrecognized(uri); }

// MARK: Text

struct field {
    unsigned char *bytes;
    size_t capacity;
};

#define FIELD(structure, name) ((struct field){(structure)->name, sizeof(structure)->name})

/// The field of one of PKCS #11's structures that a part is kept in; no bytes for another part.
static struct field field(cp11kit_uri *uri, cp11kit_part part) {
    CK_TOKEN_INFO *token = p11_kit_uri_get_token_info(uri);
    CK_INFO *library = p11_kit_uri_get_module_info(uri);
    CK_SLOT_INFO *slot = p11_kit_uri_get_slot_info(uri);
    switch (part) {
    case CP11KIT_TOKEN: return FIELD(token, label);
    case CP11KIT_TOKEN_MANUFACTURER: return FIELD(token, manufacturerID);
    case CP11KIT_TOKEN_SERIAL: return FIELD(token, serialNumber);
    case CP11KIT_TOKEN_MODEL: return FIELD(token, model);
    case CP11KIT_LIBRARY_MANUFACTURER: return FIELD(library, manufacturerID);
    case CP11KIT_LIBRARY_DESCRIPTION: return FIELD(library, libraryDescription);
    case CP11KIT_SLOT_MANUFACTURER: return FIELD(slot, manufacturerID);
    case CP11KIT_SLOT_DESCRIPTION: return FIELD(slot, slotDescription);
    default: return (struct field){NULL, 0};
    }
}

static const char *query(cp11kit_uri *uri, cp11kit_part part) {
    switch (part) {
    case CP11KIT_PIN_SOURCE: return p11_kit_uri_get_pin_source(uri);
    case CP11KIT_MODULE_NAME: return p11_kit_uri_get_module_name(uri);
    case CP11KIT_MODULE_PATH: return p11_kit_uri_get_module_path(uri);
    default: return NULL;
    }
}

const unsigned char *cp11kit_get(cp11kit_uri *uri, cp11kit_part part, size_t *length) {
    *length = 0;
    if (part == CP11KIT_OBJECT || part == CP11KIT_ID) {
        CK_ATTRIBUTE *attribute = p11_kit_uri_get_attribute(uri, part == CP11KIT_ID ? CKA_ID : CKA_LABEL);
        if (attribute == NULL) return NULL;
        *length = attribute->ulValueLen;
        return attribute->pValue != NULL ? attribute->pValue : (const unsigned char *)"";
    }
    struct field found = field(uri, part);
    if (found.bytes == NULL) {
        const char *text = query(uri, part);
        if (text != NULL) *length = strlen(text);
        return (const unsigned char *)text;
    }
    // p11-kit leaves what the URI does not say as it was made: zeros. What it says has blanks behind it.
    if (found.bytes[0] == 0) return NULL;
    size_t used = found.capacity;
    while (used > 0 && found.bytes[used - 1] == ' ') used--;
    *length = used;
    return found.bytes;
}

static int set_attribute(cp11kit_uri *uri, CK_ATTRIBUTE_TYPE type, const void *bytes, size_t length) {
    CK_ATTRIBUTE attribute = {type, (void *)bytes, length};
    return p11_kit_uri_set_attribute(uri, &attribute) == P11_KIT_URI_OK;
}

int cp11kit_set(cp11kit_uri *uri, cp11kit_part part, const unsigned char *bytes, size_t length) {
    if (part == CP11KIT_ID) return set_attribute(uri, CKA_ID, bytes, length);
    if (part == CP11KIT_OBJECT) return set_attribute(uri, CKA_LABEL, bytes, length);
    struct field found = field(uri, part);
    if (found.bytes != NULL) {
        if (length > found.capacity) return 0;
        memset(found.bytes, ' ', found.capacity);
        if (length > 0) memcpy(found.bytes, bytes, length);
        return 1;
    }
    char *text = strndup(length > 0 ? (const char *)bytes : "", length);
    if (text == NULL) return 0;
    switch (part) {
    case CP11KIT_PIN_SOURCE: p11_kit_uri_set_pin_source(uri, text); break;
    case CP11KIT_MODULE_NAME: p11_kit_uri_set_module_name(uri, text); break;
    case CP11KIT_MODULE_PATH: p11_kit_uri_set_module_path(uri, text); break;
    default: break;
    }
    free(text);
    return 1;
}

// MARK: Numbers

static const struct {
    cp11kit_kind kind;
    CK_OBJECT_CLASS object_class;
} kinds[] = {
    {CP11KIT_CERTIFICATE, CKO_CERTIFICATE}, {CP11KIT_PUBLIC_KEY, CKO_PUBLIC_KEY},
    {CP11KIT_PRIVATE_KEY, CKO_PRIVATE_KEY}, {CP11KIT_SECRET_KEY, CKO_SECRET_KEY},
    {CP11KIT_DATA, CKO_DATA},
};
enum { kind_count = sizeof kinds / sizeof kinds[0] };

cp11kit_kind cp11kit_get_kind(cp11kit_uri *uri) {
    CK_ATTRIBUTE *attribute = p11_kit_uri_get_attribute(uri, CKA_CLASS);
    if (attribute == NULL) return CP11KIT_ANY_OBJECT;
    CK_OBJECT_CLASS object_class;
    if (attribute->ulValueLen != sizeof object_class) return CP11KIT_OTHER_OBJECT;
    memcpy(&object_class, attribute->pValue, sizeof object_class);
    for (size_t i = 0; i < kind_count; i++)
        if (kinds[i].object_class == object_class) return kinds[i].kind;
    return CP11KIT_OTHER_OBJECT;
}

int cp11kit_set_kind(cp11kit_uri *uri, cp11kit_kind kind) {
    for (size_t i = 0; i < kind_count; i++)
        if (kinds[i].kind == kind)
            return set_attribute(uri, CKA_CLASS, &kinds[i].object_class, sizeof kinds[i].object_class);
    return 0;
}

long cp11kit_get_slot(cp11kit_uri *uri) { return (long)p11_kit_uri_get_slot_id(uri); }

void cp11kit_set_slot(cp11kit_uri *uri, long slot) { p11_kit_uri_set_slot_id(uri, (CK_SLOT_ID)slot); }

int cp11kit_get_version(cp11kit_uri *uri) {
    CK_VERSION version = p11_kit_uri_get_module_info(uri)->libraryVersion;
    return version.major == 0xFF && version.minor == 0xFF ? -1 : version.major << 8 | version.minor;
}

void cp11kit_set_version(cp11kit_uri *uri, int version) {
    p11_kit_uri_get_module_info(uri)->libraryVersion =
        (CK_VERSION){(unsigned char)(version >> 8), (unsigned char)version};
}

const char *cp11kit_get_pin(cp11kit_uri *uri) { return p11_kit_uri_get_pin_value(uri); }

char *cp11kit_format(cp11kit_uri *uri) {
    char *text = NULL;
    return p11_kit_uri_format(uri, P11_KIT_URI_FOR_ANY, &text) == P11_KIT_URI_OK ? text : NULL;
}

// MARK: Modules

void *cp11kit_module(const char *program, const char *name) {
    p11_kit_set_progname(program);
    CK_FUNCTION_LIST **modules = p11_kit_modules_load(NULL, 0);
    if (modules == NULL) return NULL;
    CK_FUNCTION_LIST *found = p11_kit_module_for_name(modules, name);
    for (size_t i = 0; modules[i] != NULL; i++)
        if (modules[i] != found) p11_kit_module_release(modules[i]);
    free(modules);
    return found;
}
