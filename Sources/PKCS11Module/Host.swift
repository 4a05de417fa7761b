internal import CCryptoki
internal import CPKCS11Module

/// The host of this process: the one that the session's programs share, or else one of its own.
///
/// The process is the client of its host by one connection, over which it hands in the others. When that one ends, so does all
/// that the host has of this process.
enum Host {
    /// Seconds in which a host that is alive says something.
    static let patience: Int32 = 25

    private static let none: UInt64 = 0
    private static let connecting: UInt64 = 1
    private static let connected: UInt64 = 2

    /// Tells the hosts that this process has had one after the other apart.
    static var number: UInt64 { tokenkit_load(Int32(tokenkit_word_hosts)) }

    /// There is no card service and no keychain, for which alone a host would be started.
    static let isMissing = Failure(
        CKR_SLOT_ID_INVALID, isHost: false, "there is neither a card service nor a keychain, and no host was started")

    /// - Returns: ``number``.
    /// - Throws: ``isMissing``; `CKR_DEVICE_ERROR` where no host can be had.
    static func require(_ initialisation: UInt64) throws(Failure) -> UInt64 {
        for _ in 0..<attempts {
            if state == connected {
                let host = number
                if unsafe client.pointee.initialisation == initialisation, unsafe client.pointee.isOpen,
                    unsafe tokenkit_is_stale(client.pointee.descriptor) == 0
                {
                    return host
                }
                // The thread that sees it first makes way for another.
                if replace(connected, connecting) {
                    unsafe client.pointee.close()
                    return try connect(initialisation)
                }
            } else if replace(none, connecting) {
                return try connect(initialisation)
            }
            // Another thread is connecting.
            usleep(interval)
            guard Initialisation.current == initialisation else { throw Failure(CKR_CRYPTOKI_NOT_INITIALIZED) }
        }
        throw hostFailed
    }

    /// Together as long as ``patience``.
    private static let attempts = 25_000
    private static let interval: UInt32 = 1_000

    private static func connect(_ initialisation: UInt64) throws(Failure) -> UInt64 {
        do throws(Failure) {
            let host = number + 1
            let descriptor = try HostSearch.connect(firstHandle: host << 32)
            unsafe client.pointee = tokenkit_connection(
                descriptor: descriptor, request: 0, inode: tokenkit_socket_inode(descriptor),
                initialisation: initialisation, host: host, attributes: tokenkit_attributes())
            tokenkit_store(Int32(tokenkit_word_hosts), host)
            store(connected)
            // The end of the module may have passed by it meanwhile.
            if Initialisation.current != initialisation {
                end(initialisation)
                throw Failure(CKR_CRYPTOKI_NOT_INITIALIZED)
            }
            return host
        } catch {
            _ = replace(connecting, none)
            throw error
        }
    }

    /// Has the host serve a connection, whose other end stays here.
    static func attach(_ descriptor: Int32) -> Bool {
        let message = FrameHeader(.connection, number: 0, fieldCount: 0, secretCount: 0).encoded()
        let result = unsafe message.withUnsafeBytes {
            unsafe tokenkit_send_descriptor(client.pointee.descriptor, $0.baseAddress, $0.count, descriptor)
        }
        return result == 0
    }

    /// Ends being a client of the host.
    static func end(_ initialisation: UInt64) {
        guard unsafe client.pointee.initialisation == initialisation, replace(connected, connecting) else { return }
        unsafe client.pointee.close()
        store(none)
    }

    /// Whether there is a host for the round.
    static func isConnected(_ initialisation: UInt64) -> Bool {
        unsafe client.pointee.initialisation == initialisation && state == connected
    }

    /// Lets go of a parent's.
    static func forget() {
        unsafe client.pointee.close()
        store(none)
    }

    private static var client: UnsafeMutablePointer<tokenkit_connection> {
        unsafe tokenkit_client().unsafelyUnwrapped
    }

    private static var word: Int32 { Int32(tokenkit_word_host) }
    private static var state: UInt64 { tokenkit_load(word) }
    private static func store(_ value: UInt64) { tokenkit_store(word, value) }
    private static func replace(_ expected: UInt64, _ value: UInt64) -> Bool {
        tokenkit_replace(word, expected, value) != 0
    }
}
