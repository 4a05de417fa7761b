// libpcsclite's headers include each other by bare name and expect -I/usr/include/PCSC. The forwarding headers beside
// this one stand in for that flag, which SwiftPM would warn about on each build if pkg-config gave it.
#pragma once
#include <PCSC/winscard.h>
#include <PCSC/reader.h>
