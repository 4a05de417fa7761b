internal import CPCSC
internal import Glibc
internal import Platform
internal import Synchronization

/// A connection to the PC/SC service.
///
/// libpcsclite locks a context during a call, and holds a lock of the whole process while it waits for the context's: a context
/// that two threads use can thus stop all others. So contexts are not shared here. Each card connection and each monitor has its
/// own, and only ``cancel()`` may be called from another thread.
final class PCSCContext: Sendable {
    let handle: SCARDCONTEXT

    /// The process that made the context. A child by `fork` has the same socket, and must not speak on it.
    private let process = getpid()

    /// Whether a call has not returned, so that the context must not be used or released.
    private let isAbandoned = Atomic(false)

    /// Wraps SCardEstablishContext.
    init() throws(CardError) {
        var handle: SCARDCONTEXT = 0
        var code = PCSCCode.linkLost
        cpcsc_begin_context_call()
        defer { cpcsc_end_context_call() }
        // A service that ends because it is idle may close the socket of a new client. The next attempt reaches a new service.
        for _ in 0..<2 where code == .linkLost {
            code = PCSCCode(unsafe SCardEstablishContext(DWORD(SCARD_SCOPE_SYSTEM), nil, nil, &handle))
        }
        guard code == .success else { throw PCSCContext.diagnosis(of: code) }
        self.handle = handle
    }

    /// Wraps SCardReleaseContext.
    deinit {
        guard isOwn, !isAbandoned.load(ordering: .acquiring) else { return }
        cpcsc_begin_context_call()
        defer { cpcsc_end_context_call() }
        SCardReleaseContext(handle)
    }

    /// Leaves the context to a call that does not return. Releasing it would wait for that call, and block all other contexts.
    func abandon() { isAbandoned.store(true, ordering: .releasing) }

    /// Whether this is the process that made the context.
    var isOwn: Bool { process == getpid() }

    /// The readers' names. Wraps SCardListReaders.
    func readerNames() throws(CardError) -> [String] {
        // The capacity suffices for sixteen readers, the maximum of libpcsclite. With the usual query for the length first,
        // libpcsclite overruns the buffer when a reader is added between the two calls of another thread.
        var capacity = 4_096
        while true {
            var names = [CChar](repeating: 0, count: capacity)
            var length = DWORD(capacity)
            cpcsc_begin_call()
            let code = PCSCCode(unsafe SCardListReaders(handle, nil, &names, &length))
            switch code {
            case .success: return PCSCContext.strings(in: names.prefix(Int(clamping: length)))
            case .noReadersAvailable: return []
            case .insufficientBuffer where capacity < 1 << 20: capacity *= 4
            default: throw CardError(code)
            }
        }
    }

    /// Ends another thread's wait. Wraps SCardCancel.
    func cancel() {
        guard isOwn else { return }
        cpcsc_begin_call()
        SCardCancel(handle)
    }

    /// The strings of a multi-string: each ends with a zero, an empty one ends the list.
    static func strings(in characters: some Sequence<CChar>) -> [String] {
        var strings: [String] = []
        var current: [UInt8] = []
        for character in characters {
            guard character == 0 else { current.append(UInt8(bitPattern: character)); continue }
            guard !current.isEmpty else { break }
            strings.append(String(decoding: current, as: UTF8.self))
            current = []
        }
        return strings
    }

    /// Tells a service that does not run from one whose socket this user may not open. libpcsclite returns the same code for
    /// both.
    private static func diagnosis(of code: PCSCCode) -> CardError {
        guard code == .noService else { return CardError(code, .connecting) }
        let path = Environment.variable("PCSCLITE_CSOCK_NAME") ?? "/run/pcscd/pcscd.comm"
        guard unsafe faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) != 0, errno == EACCES else {
            return CardError(code, .connecting)
        }
        return CardError(
            .accessDenied,
            "this user may not open the smart-card service's socket \(path) (check who may: ls -lL \(path))")
    }
}
