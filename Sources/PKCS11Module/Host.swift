internal import CCryptoki
internal import CPKCS11Module

/// The host of this process: the one that the session's programs share, or else one of its own.
///
/// The process is the client of its host by one connection, over which it hands in the others. When that one ends, so does all
/// that the host has of this process.
enum Host {
    private static let none: UInt64 = 0
    private static let busy: UInt64 = 1
    private static let connected: UInt64 = 2

    /// Tells the hosts that this process has had one after the other apart.
    static var number: UInt64 { tokenkit_load(Int32(tokenkit_word_hosts)) }

    /// There is no card service and no keychain, for which alone a host would be started.
    static let isMissing = Failure(
        CKR_SLOT_ID_INVALID, isHost: false, "there is neither a card service nor a keychain, and no host was started")

    /// Microseconds between two looks at whether a host is wanted by now.
    static let timeBetweenLooks: UInt32 = 500_000

    /// Has the host serve a connection, whose other end stays here. Starts a host where there is none.
    ///
    /// - Returns: the host's number.
    /// - Throws: ``isMissing``; `CKR_DEVICE_ERROR` where no host can be had.
    static func attach(
        _ descriptor: Int32, _ initialisation: UInt64, _ deadline: Deadline
    ) throws(Failure) -> UInt64 {
        try acquire(initialisation, deadline)
        var isSent = false
        do throws(Failure) {
            if isUsable(initialisation) { isSent = send(descriptor, deadline) }
            // A host may end at any moment.
            if !isSent, !isUsable(initialisation) {
                try connect(initialisation, deadline)
                isSent = send(descriptor, deadline)
            }
        } catch {
            unsafe client.pointee.close()
            store(none)
            throw error
        }
        let host = unsafe client.pointee.host
        release()
        guard isSent else { throw hostFailed }
        guard Initialisation.isCurrent(initialisation) else { throw Failure(CKR_CRYPTOKI_NOT_INITIALIZED) }
        return host
    }

    /// Sends a connection over the one to the host, which is closed where the host is gone.
    private static func send(_ descriptor: Int32, _ deadline: Deadline) -> Bool {
        let message = FrameHeader(.connection, number: 0, fieldCount: 0, secretCount: 0).encoded()
        let result = unsafe message.withUnsafeBytes {
            unsafe tokenkit_send_descriptor(
                client.pointee.descriptor, $0.baseAddress, $0.count, descriptor, deadline.time)
        }
        if Int(result) == tokenkit_gone { unsafe client.pointee.close() }
        return result == 0
    }

    private static func isUsable(_ initialisation: UInt64) -> Bool {
        unsafe client.pointee.initialisation == initialisation && client.pointee.host == number && client.pointee.isOpen
            && tokenkit_is_stale(client.pointee.descriptor) == 0
    }

    private static func connect(_ initialisation: UInt64, _ deadline: Deadline) throws(Failure) {
        unsafe client.pointee.close()
        let host = number + 1
        let descriptor = try HostSearch.connect(firstHandle: host << 32, deadline)
        unsafe client.pointee = tokenkit_connection(
            descriptor: descriptor, request: 0, inode: tokenkit_socket_inode(descriptor),
            initialisation: initialisation, host: host, attributes: tokenkit_attributes())
        tokenkit_store(Int32(tokenkit_word_hosts), host)
    }

    /// Makes the connection this thread's alone, so that no other one closes it meanwhile.
    private static func acquire(_ initialisation: UInt64, _ deadline: Deadline) throws(Failure) {
        while !replace(connected, busy), !replace(none, busy) {
            guard deadline.remaining > 0 else { throw hostFailed }
            usleep(interval)
            guard Initialisation.isCurrent(initialisation) else { throw Failure(CKR_CRYPTOKI_NOT_INITIALIZED) }
        }
    }

    private static let interval: UInt32 = 1_000

    /// Gives up what ``acquire(_:_:)`` took. The end of the module may have passed by it meanwhile.
    private static func release() {
        while true {
            let round = unsafe client.pointee.initialisation
            store(connected)
            guard !Initialisation.isCurrent(round), replace(connected, busy) else { return }
            if unsafe client.pointee.initialisation == round {
                unsafe client.pointee.close()
                return store(none)
            }
        }
    }

    /// Ends being a client of the host.
    static func end() {
        if replace(connected, busy) { release() }
    }

    /// Gives up a host that does not answer, so that the next call has a new one.
    static func drop(_ host: UInt64) {
        // Its connections are used no more.
        guard tokenkit_replace(Int32(tokenkit_word_hosts), host, host + 1) != 0, replace(connected, busy) else {
            return
        }
        guard unsafe client.pointee.host == host else { return release() }
        unsafe client.pointee.close()
        store(none)
    }

    /// Whether a host that left a call unread has ended, so that another one can be asked. It is given up then.
    ///
    /// A process that is killed closes its connections one after the other, this one maybe last.
    static func hasEnded(_ host: UInt64) -> Bool {
        guard number == host else { return true }
        // Another thread may be changing what is read here, because the host has ended.
        guard unsafe tokenkit_await_end(client.pointee.descriptor, tokenkit_now() + timeToEnd) == 0 else {
            return number != host
        }
        drop(host)
        return true
    }

    /// Milliseconds that a process takes at most to close its connections.
    private static let timeToEnd: Int64 = 1_000

    /// Whether a host is the one of now, and goes on: it ends once the program has closed the connection by which it is known.
    ///
    /// Another thread may be changing what is read here. A connection that is not used because of it is made anew.
    static func isServing(_ host: UInt64) -> Bool {
        unsafe number == host && client.pointee.host == host && client.pointee.isOpen
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

/// The end of a call's wait for the host. All waits of a call have the same one, so that neither failures add up, nor
/// waits that a signal interrupts.
struct Deadline {
    /// Seconds in which the rest of a message follows its beginning, at least.
    private static let rest: Int64 = 4

    /// The deadline by the monotonic clock, in milliseconds.
    private(set) var time = tokenkit_now() + Int64(tokenkit_patience) * 1000

    var remaining: Int64 { time - tokenkit_now() }

    /// Until when there has to be a connection. The host has at least twice the time after that in which it tells that it is at work.
    var forConnection: Deadline {
        var earlier = self
        earlier.time -= 10_000
        return earlier
    }

    /// Half of the time that is left, so that something else can be tried in the other half.
    var half: Deadline {
        var half = self
        half.time = tokenkit_now() + max(remaining, 0) / 2
        return half
    }

    /// The host has said something.
    mutating func renew() { self = Deadline() }

    /// A message has begun, and may be followed by its rest.
    mutating func extendForRest() { time = max(time, tokenkit_now() + Deadline.rest * 1000) }
}
