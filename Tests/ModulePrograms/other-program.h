/* Another program's connection to the card. */
#include <winscard.h>

#include "module.h"

/* - mode: SCARD_SHARE_SHARED, or SCARD_SHARE_EXCLUSIVE for a program that shares the card with no other. */
static SCARDHANDLE connect_card(DWORD mode) {
    SCARDCONTEXT context;
    SCARDHANDLE card;
    char readers[256];
    DWORD length = sizeof readers, protocol, protocols = SCARD_PROTOCOL_T0 | SCARD_PROTOCOL_T1;
    MUST(SCARD_S_SUCCESS, (CK_ULONG)SCardEstablishContext(SCARD_SCOPE_SYSTEM, NULL, NULL, &context));
    MUST(SCARD_S_SUCCESS, (CK_ULONG)SCardListReaders(context, NULL, readers, &length));
    MUST(SCARD_S_SUCCESS, (CK_ULONG)SCardConnect(context, readers, mode, protocols, &card, &protocol));
    return card;
}
