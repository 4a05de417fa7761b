/* Holds the card in the first reader until standard input ends. */
#include <stdio.h>
#include <winscard.h>

int main(void) {
    SCARDCONTEXT context;
    SCARDHANDLE card;
    DWORD protocol, length = 256;
    char readers[256];
    if (SCardEstablishContext(SCARD_SCOPE_SYSTEM, NULL, NULL, &context) != SCARD_S_SUCCESS) return 1;
    if (SCardListReaders(context, NULL, readers, &length) != SCARD_S_SUCCESS) return 2;
    DWORD protocols = SCARD_PROTOCOL_T0 | SCARD_PROTOCOL_T1;
    if (SCardConnect(context, readers, SCARD_SHARE_SHARED, protocols, &card, &protocol) != SCARD_S_SUCCESS) return 3;
    if (SCardBeginTransaction(card) != SCARD_S_SUCCESS) return 4;
    fclose(fopen("held", "w"));
    return getchar() == EOF ? 0 : 5;
}
