internal import CCryptoki
internal import Glibc
internal import HostServer
internal import KeychainHost
internal import PIVDriver
internal import PKCS11Bridge
internal import TokenKit
internal import Wire

// The one root that names the drivers.

signal(SIGPIPE, SIG_IGN)

/// The socket that the module hands to a host of its own.
let privateSocket: Int32 = 3

PrivateHost.serve(privateSocket) { hello, peer in
    let process = ProcessKeychains {
        [PIVDriver(memory: $0.tokens, certificates: $0.certificates, rejectedPINs: $0.rejectedPINs)]
    }
    let filter = TokenFilter(
        path: String(decoding: hello.libraryPath, as: UTF8.self),
        variable: Directories.environmentVariable("TOKENKIT_PKCS11_TOKENS"))
    let behaviour = Behaviour(
        variable: Directories.environmentVariable("TOKENKIT_PKCS11_PROMPT"), program: peer.program,
        prompter: FirstAvailablePrompter.standard())
    return Cryptoki(
        process, filter: filter, behaviour: behaviour, firstHandle: CK_ULONG(hello.firstHandle),
        log: Log(isWanted: hello.wantsNotes))
}
