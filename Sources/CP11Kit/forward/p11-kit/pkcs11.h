#include <p11-kit-1/p11-kit/pkcs11.h>
