internal import CThinClient

/// The connections of this process: each belongs to one thread for a call, and then waits for the next call.
///
/// There is no lock, since another thread may fork at any time: the thread that changes a connection's word to ``busy`` owns the
/// connection.
enum Connections {
    private static let empty: UInt64 = 0
    private static let idle: UInt64 = 1
    private static let busy: UInt64 = 2

    /// Takes a connection that no other thread has, or makes one. Where the maximum is in use, waits for a free one.
    ///
    /// - Throws: ``Client/hostFailed`` where none can be made, or none becomes free in time; the failures of a search for a host.
    static func take(_ context: inout CallContext) throws(Failure) -> Connection {
        var returns = tokenkit_load(Int32(tokenkit_word_returns))
        let places = context.tooManyWaits == nil ? 0..<count : count - forWaits..<count
        while true {
            let deadline = context.deadline.forConnection
            if let connection = try takeFree(places, context.initialisation, deadline) { return connection }
            if let tooManyWaits = context.tooManyWaits { throw tooManyWaits }
            // The host is at work as long as other threads give connections back.
            let present = tokenkit_load(Int32(tokenkit_word_returns))
            if present != returns {
                returns = present
                context.deadline.renew()
            }
            guard context.waits, context.deadline.forConnection.remaining > 0 else { throw tooManyCalls }
            usleep(interval)
            guard Initialisation.isCurrent(context.initialisation) else { throw Failure(Client.notInitialised) }
        }
    }

    private static let interval: UInt32 = 1_000

    private static let tooManyCalls = Failure(Client.hostFailed, "too many threads are amid calls")

    /// The greatest number of connections that have threads which wait for an event. They may wait for days, and other calls have the
    /// rest.
    private static let forWaits: Int32 = 16

    private static func takeFree(
        _ places: Range<Int32>, _ initialisation: UInt64, _ deadline: Deadline
    ) throws(Failure) -> Connection? {
        for index in places where replace(index, idle, busy) {
            let pooled = Connection(index: index)
            if pooled.isUsable(initialisation) { return pooled }
            discard(pooled)
        }
        for index in places where replace(index, empty, busy) {
            let connection = Connection(index: index)
            do throws(Failure) {
                try connection.open(initialisation, deadline)
                return connection
            } catch {
                store(index, empty)
                throw error
            }
        }
        return nil
    }

    /// Takes the connection that the next call would take, for what it keeps in memory. Makes no system call, so that its socket may be
    /// stale.
    static func takeIdle() -> Connection? {
        for index in 0..<count where replace(index, idle, busy) { return Connection(index: index) }
        return nil
    }

    static func giveBack(_ connection: Connection, _ initialisation: UInt64) {
        guard Initialisation.hasNotEnded(initialisation) else { return discard(connection) }
        store(connection.index, idle)
        let returns = Int32(tokenkit_word_returns)
        tokenkit_store(returns, tokenkit_load(returns) &+ 1)
        // The end of the initialisation may have passed by it meanwhile.
        if !Initialisation.hasNotEnded(initialisation), replace(connection.index, idle, busy) { discard(connection) }
    }

    static func discard(_ connection: Connection) {
        connection.close()
        store(connection.index, empty)
    }

    /// Closes the connections that no thread has.
    static func closeIdle() {
        for index in 0..<count where replace(index, idle, busy) { discard(Connection(index: index)) }
    }

    /// Drops the connections of a parent process, which stay open there.
    static func forget() {
        for index in 0..<count {
            if load(index) != empty { unsafe Connection(index: index).fields.pointee.close() }
            store(index, empty)
        }
        Host.forget()
    }

    private static var count: Int32 { Int32(tokenkit_connection_count) }

    private static func word(_ index: Int32) -> Int32 { Int32(tokenkit_word_connections) + index }

    private static func load(_ index: Int32) -> UInt64 { tokenkit_load(word(index)) }

    private static func store(_ index: Int32, _ value: UInt64) { tokenkit_store(word(index), value) }

    private static func replace(_ index: Int32, _ expected: UInt64, _ value: UInt64) -> Bool {
        tokenkit_replace(word(index), expected, value) != 0
    }
}
