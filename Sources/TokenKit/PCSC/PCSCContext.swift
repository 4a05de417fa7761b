internal import CPCSC
internal import Glibc
internal import Platform

/// A connection to the PC/SC service.
///
/// libpcsclite locks a context during a call, and holds a lock of the whole process while it waits for the context's: a context
/// that two threads use can thus stop all others. So contexts are not shared here. Each card connection and each monitor has its
/// own, and only ``cancel()`` may be called from another thread.
final class PCSCContext: Sendable {
    let handle: SCARDCONTEXT

    /// The time that the service may take for an answer that needs no card.
    static let patience = Duration.seconds(30)

    /// The process that made the context. A child by `fork` has the same socket, and must not speak on it.
    private let process = getpid()

    private let socket: cpcsc_socket

    /// Wraps SCardEstablishContext.
    init() throws(CardError) {
        var handle: SCARDCONTEXT = 0
        var socket = cpcsc_socket(number: -1, inode: 0)
        var code = PCSCCode.linkLost
        // A service that ends because it is idle may close the socket of a new client. The next attempt reaches a new service.
        for _ in 0..<2 where code == .linkLost {
            var former = cpcsc_sockets()
            code = unsafe withUnsafeTemporaryAllocation(of: cpcsc_call.self, capacity: 1) { call in
                unsafe cpcsc_begin_making(call.baseAddress, &former, PCSCContext.patience.milliseconds)
                let code = PCSCCode(unsafe SCardEstablishContext(DWORD(SCARD_SCOPE_SYSTEM), nil, nil, &handle))
                return unsafe cpcsc_end_making(call.baseAddress, &socket) != 0 ? .timeout : code
            }
        }
        guard code == .success else { throw PCSCContext.diagnosis(of: code) }
        self.handle = handle
        self.socket = socket
    }

    /// Wraps SCardReleaseContext.
    deinit {
        guard isOwn else { return }
        unsafe withUnsafeTemporaryAllocation(of: cpcsc_call.self, capacity: 1) { call in
            unsafe cpcsc_begin_releasing(call.baseAddress, socket, PCSCContext.patience.milliseconds)
            SCardReleaseContext(handle)
            unsafe cpcsc_end_releasing(call.baseAddress)
        }
    }

    /// The code of a call of libpcsclite on this context.
    ///
    /// - Parameter limit: the time that it may take; nil for any. After it, the call is made to return `.timeout`, and the context
    ///   is of no further use. Where the process's descriptors cannot be listed (`/proc`), there is no limit.
    func call(atMost limit: Duration?, _ body: () -> LONG) -> PCSCCode {
        unsafe withUnsafeTemporaryAllocation(of: cpcsc_call.self, capacity: 1) { call in
            unsafe cpcsc_begin_call(call.baseAddress, socket, limit?.milliseconds ?? UInt(cpcsc_no_limit))
            let code = PCSCCode(body())
            return unsafe cpcsc_end_call(call.baseAddress) != 0 ? .timeout : code
        }
    }

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
            let code = call(atMost: PCSCContext.patience) { unsafe SCardListReaders(handle, nil, &names, &length) }
            switch code {
            case .success: return PCSCContext.strings(in: names.prefix(Int(clamping: length)))
            case .noReadersAvailable: return []
            case .insufficientBuffer where capacity < 1 << 20: capacity *= 4
            case .timeout: throw PCSCContext.diagnosis(of: code)
            default: throw CardError(code)
            }
        }
    }

    /// Ends another thread's wait. Wraps SCardCancel.
    func cancel() {
        guard isOwn else { return }
        _ = call(atMost: nil) { SCardCancel(handle) }
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

    /// Tells a service that does not answer, one that does not run and one whose socket this user may not open apart. libpcsclite
    /// returns the same code for the last two.
    private static func diagnosis(of code: PCSCCode) -> CardError {
        if code == .timeout {
            return CardError(
                .serviceUnavailable,
                """
                the smart-card service has not answered for \(patience.components.seconds) seconds \
                (start it anew: systemctl restart pcscd)
                """)
        }
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

extension Duration {
    /// Milliseconds, at least one.
    fileprivate var milliseconds: UInt { UInt(max(self / .milliseconds(1), 1)) }
}
