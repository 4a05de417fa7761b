internal import CHostStart
internal import CThinClient

/// The host of this process: the one that the session's programs share, or else one of its own.
///
/// The process is the client of its host by one connection. It hands in the others over that one, or makes them by a ticket where the
/// host is on another machine. When the first connection ends, the host drops all state of this process.
enum Host {
    private static let none: UInt64 = 0
    private static let busy: UInt64 = 1
    private static let connected: UInt64 = 2

    /// The number of the present host, which rises with each host that this process has.
    static var number: UInt64 { tokenkit_load(Int32(tokenkit_word_hosts)) }

    /// Makes a further connection to the host. Starts a host where there is none.
    ///
    /// - Returns: the connection, and the host's number.
    /// - Throws: ``Client/hostFailed`` where no host can be had, ``Client/noDescriptor``, or what ``Client/requireNeed()`` throws.
    static func makeConnection(
        _ initialisation: UInt64, _ deadline: Deadline
    ) throws(Failure) -> (descriptor: Int32, host: UInt64) {
        try acquire(initialisation, deadline)
        var further = Further.lost
        do throws(Failure) {
            let hadHost = isOpen(initialisation)
            if isUsable(initialisation) { further = makeFurther(deadline) }
            // A host may end at any moment.
            if case .lost = further, !isUsable(initialisation) {
                if Client.reportsLostHost, hadHost { throw hostEnded }
                try connect(initialisation, deadline)
                further = makeFurther(deadline)
            }
        } catch {
            unsafe client.pointee.close()
            store(none)
            throw error
        }
        let host = unsafe client.pointee.host
        release()
        switch further {
        case .lost: throw hostFailed
        case .noDescriptor: throw Failure(Client.noDescriptor, "no descriptor is left for a connection to the host")
        case .made(let descriptor):
            guard Initialisation.hasNotEnded(initialisation) else {
                _ = close(descriptor)
                throw Failure(Client.notInitialised)
            }
            return (descriptor, host)
        }
    }

    private enum Further {
        case made(Int32)
        case noDescriptor
        case lost
    }

    private static func makeFurther(_ deadline: Deadline) -> Further {
        if tokenkit_load(Int32(tokenkit_word_remote)) != 0 { return join(deadline) }
        var ends: (Int32, Int32) = (-1, -1)
        let made = unsafe withUnsafeMutablePointer(to: &ends) { pair in
            unsafe pair.withMemoryRebound(to: Int32.self, capacity: 2) { unsafe tokenkit_socket_pair($0) }
        }
        guard made == 0 else { return .noDescriptor }
        defer { _ = close(ends.1) }
        guard send(ends.1, deadline) else {
            _ = close(ends.0)
            return .lost
        }
        return .made(ends.0)
    }

    /// Connects once more to a host on another machine, which knows this client by its ticket.
    private static func join(_ deadline: Deadline) -> Further {
        let descriptor = unsafe tokenkit_connect_again(client.pointee.descriptor)
        guard descriptor >= 0 else {
            unsafe client.pointee.close()
            return .lost
        }
        let ticket = Ticket(
            high: tokenkit_load(Int32(tokenkit_word_ticket_high)), low: tokenkit_load(Int32(tokenkit_word_ticket_low)))
        guard HostSearch.send(.join, ticket.encoded(), to: descriptor, deadline) else {
            _ = close(descriptor)
            return .lost
        }
        return .made(descriptor)
    }

    /// Notes how the host makes further connections.
    static func note(_ ticket: Ticket?) {
        tokenkit_store(Int32(tokenkit_word_ticket_high), ticket?.high ?? 0)
        tokenkit_store(Int32(tokenkit_word_ticket_low), ticket?.low ?? 0)
        tokenkit_store(Int32(tokenkit_word_remote), ticket == nil ? 0 : 1)
    }

    /// Sends a connection to the host over the client's connection, which is closed where the host is gone.
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
        unsafe isOpen(initialisation) && tokenkit_is_stale(client.pointee.descriptor) == 0
    }

    /// Whether the client's connection is still open on this side.
    private static func isOpen(_ initialisation: UInt64) -> Bool {
        unsafe client.pointee.initialisation == initialisation && client.pointee.host == number && client.pointee.isOpen
    }

    private static func connect(_ initialisation: UInt64, _ deadline: Deadline) throws(Failure) {
        unsafe client.pointee.close()
        let host = number + 1
        let hadHost = unsafe client.pointee.initialisation == initialisation
        let descriptor: Int32
        do throws(Failure) { descriptor = try HostSearch.connect(firstHandle: host << 32, deadline) } catch {
            // A program that has used a host is told of its loss; before, there is nothing to lose.
            guard hadHost, error.code == Client.hostFailed else { throw error }
            throw Failure(error.code, error.reason)
        }
        unsafe client.pointee = tokenkit_connection(
            descriptor: descriptor, request: 0, inode: tokenkit_socket_inode(descriptor),
            initialisation: initialisation, host: host)
        tokenkit_store(Int32(tokenkit_word_hosts), host)
    }

    /// Takes the client's connection for this thread alone, so that no other thread closes it meanwhile.
    private static func acquire(_ initialisation: UInt64, _ deadline: Deadline) throws(Failure) {
        while !replace(connected, busy), !replace(none, busy) {
            guard deadline.remaining > 0 else { throw hostFailed }
            usleep(interval)
            guard Initialisation.hasNotEnded(initialisation) else { throw Failure(Client.notInitialised) }
        }
    }

    private static let interval: UInt32 = 1_000

    /// Gives back the connection that ``acquire(_:_:)`` took. The end of the initialisation may have found it busy: it is closed then.
    private static func release() {
        while true {
            let round = unsafe client.pointee.initialisation
            store(connected)
            guard !Initialisation.hasNotEnded(round), replace(connected, busy) else { return }
            if unsafe client.pointee.initialisation == round {
                unsafe client.pointee.close()
                return store(none)
            }
        }
    }

    /// Closes the client's connection, which ends this process as a client of the host.
    static func end() {
        if replace(connected, busy) { release() }
    }

    /// Gives up a host that does not answer, so that the next call has a new one.
    static func drop(_ host: UInt64) {
        // The new number makes the host's connections unusable.
        guard tokenkit_replace(Int32(tokenkit_word_hosts), host, host + 1) != 0, replace(connected, busy) else {
            return
        }
        guard unsafe client.pointee.host == host else { return release() }
        unsafe client.pointee.close()
        store(none)
    }

    /// Whether a host that left a call unread has ended, so that another host can be asked. Gives the ended host up.
    ///
    /// A killed process closes its connections one after the other, possibly the client's connection last.
    static func hasEnded(_ host: UInt64) -> Bool {
        guard number == host else { return true }
        // Another thread may be changing the client's connection, because the host has ended.
        guard unsafe tokenkit_await_end(client.pointee.descriptor, tokenkit_now() + timeToEnd) == 0 else {
            return number != host
        }
        drop(host)
        return true
    }

    /// Milliseconds that a process takes at most to close its connections.
    private static let timeToEnd: Int64 = 1_000

    /// Whether a host is the present one, and the client's connection is open: the host ends this client once the program has
    /// closed it.
    ///
    /// Another thread may be changing these fields. A usable connection that is discarded because of that is made again.
    static func isServing(_ host: UInt64) -> Bool {
        unsafe number == host && client.pointee.host == host && client.pointee.isOpen
    }

    /// Whether there is a host for the round.
    static func isConnected(_ initialisation: UInt64) -> Bool {
        unsafe client.pointee.initialisation == initialisation && state == connected
    }

    /// Drops the connection of a parent process.
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
