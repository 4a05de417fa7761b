// libpcsclite's headers include each other by bare name and expect -I/usr/include/PCSC. The forwarding headers beside
// this one stand in for that flag, which SwiftPM would warn about on each build if pkg-config gave it.
#pragma once
#include <PCSC/winscard.h>
#include <PCSC/reader.h>

/* libpcsclite has one lock for the whole process. It is held while a context is made or released, and for a moment at the start of
   every other call. In a child that is forked meanwhile, it stays locked for ever. These functions keep forks out of such moments:
   each call is announced before it is made, and a fork waits until calls that make or release a context have returned. */
void cpcsc_begin_call(void);
void cpcsc_begin_context_call(void);
void cpcsc_end_context_call(void);
