internal import CCryptoki
internal import CHostStart
internal import CPKCS11Module

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
    /// - Throws: `CKR_DEVICE_ERROR` where none can be made, or none becomes free in time; ``Host/isMissing``.
    static func take(_ context: inout CallContext) throws(Failure) -> Connection {
        var returns = tokenkit_load(Int32(tokenkit_word_returns))
        let places = context.awaitsEvent ? count - forEvents..<count : 0..<count
        while true {
            let deadline = context.deadline.forConnection
            if let connection = try takeFree(places, context.initialisation, deadline) { return connection }
            guard !context.awaitsEvent else { throw tooManyWaits }
            // The host is at work as long as other threads give connections back.
            let present = tokenkit_load(Int32(tokenkit_word_returns))
            if present != returns {
                returns = present
                context.deadline.renew()
            }
            guard context.waits, context.deadline.forConnection.remaining > 0 else { throw tooManyCalls }
            usleep(interval)
            guard Initialisation.isCurrent(context.initialisation) else { throw Failure(CKR_CRYPTOKI_NOT_INITIALIZED) }
        }
    }

    private static let interval: UInt32 = 1_000

    private static let tooManyCalls = Failure(CKR_DEVICE_ERROR, "too many threads are amid calls")

    /// The failure of a wait for an event while others have all connections for waits, one of which gets the next event.
    static let tooManyWaits = Failure(CKR_NO_EVENT, isHost: false)

    /// The greatest number of connections that have threads which wait for an event. They may wait for days, and other calls have the
    /// rest.
    private static let forEvents: Int32 = 16

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
        // The end of the module may have passed by it meanwhile.
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
            if load(index) != empty { Connection(index: index).closeInChild() }
            store(index, empty)
        }
        BegunSignature.forget()
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

/// A connection that this thread has.
@safe
struct Connection {
    let index: Int32

    var fields: UnsafeMutablePointer<tokenkit_connection> {
        unsafe tokenkit_connection(index).unsafelyUnwrapped
    }

    /// Whether the connection belongs to this initialisation and to the present host, and its socket is still open on
    /// both sides.
    func isUsable(_ initialisation: UInt64) -> Bool {
        let connection = unsafe fields.pointee
        return unsafe connection.initialisation == initialisation && Host.isServing(connection.host)
            && connection.isOpen
            && tokenkit_is_stale(connection.descriptor) == 0
    }

    /// Makes a pair of sockets, whose other end the host serves from now on.
    func open(_ initialisation: UInt64, _ deadline: Deadline) throws(Failure) {
        var ends: (Int32, Int32) = (-1, -1)
        let made = unsafe withUnsafeMutablePointer(to: &ends) { pair in
            unsafe pair.withMemoryRebound(to: Int32.self, capacity: 2) { unsafe tokenkit_socket_pair($0) }
        }
        guard made == 0 else { throw Failure(CKR_DEVICE_ERROR, "no descriptor is left for a connection to the host") }
        defer { _ = CPKCS11Module.close(ends.1) }
        let host: UInt64
        do throws(Failure) { host = try Host.attach(ends.1, initialisation, deadline) } catch {
            _ = CPKCS11Module.close(ends.0)
            throw error
        }
        tokenkit_set_patience(ends.0)
        unsafe fields.pointee = tokenkit_connection(
            descriptor: ends.0, request: 0, inode: tokenkit_socket_inode(ends.0), initialisation: initialisation,
            host: host, attributes: tokenkit_attributes())
    }

    func close() {
        unsafe fields.pointee.close()
    }

    /// Closes a parent's connection. The attributes are not freed: a thread of the parent may have freed them already when it forked.
    fileprivate func closeInChild() {
        unsafe fields.pointee.attributes = tokenkit_attributes()
        close()
    }

    /// Sends a message with the secrets that the program's own memory holds.
    ///
    /// - Returns: the number of the request.
    /// - Throws: a failure that is ``Failure/isUnread`` where the host is gone.
    func send(_ call: [UInt8], _ secrets: borrowing Secrets, _ deadline: Deadline) throws(Failure) -> UInt32 {
        let number = unsafe fields.pointee.request &+ 1
        unsafe fields.pointee.request = number
        guard call.count <= FrameHeader.maximumFields, secrets.count <= FrameHeader.maximumSecrets else {
            throw Failure(CKR_HOST_MEMORY, "the arguments are longer than the host takes")
        }
        let header = FrameHeader(.request, number: number, fieldCount: call.count, secretCount: secrets.count)
            .encoded()
        let (descriptor, inode) = unsafe (fields.pointee.descriptor, fields.pointee.inode)
        let result = unsafe header.withUnsafeBytes { header in
            unsafe call.withUnsafeBytes { call in
                var parts = unsafe secrets.parts(behind: header, call)
                return unsafe parts.withUnsafeMutableBufferPointer { parts in
                    unsafe tokenkit_send(descriptor, inode, parts.baseAddress, Int32(parts.count), deadline.time)
                }
            }
        }
        // The host ignores a message that did not arrive as a whole.
        if Int(result) == tokenkit_gone { throw hostEnded }
        try check(result)
        return number
    }

    /// Waits for the answer to a request, for as long as the host says that it works on the request.
    ///
    /// - Parameter deadline: until when the host has to say something; afterwards, until when the secrets have to follow.
    func receive(
        _ number: UInt32, _ deadline: inout Deadline
    ) throws(Failure) -> (answer: PKCS11Answer, secretCount: Int) {
        while true {
            let header = try header(deadline)
            guard header.number == number else { throw Failure(CKR_DEVICE_ERROR, "the host answered something else") }
            if header.kind == .working, header.fieldCount == 0, header.secretCount == 0 {
                deadline.renew()
                continue
            }
            guard header.kind == .answer else { throw Failure(CKR_DEVICE_ERROR, "the host sent something else") }
            deadline.extendForRest()
            let fields = try bytes(header.fieldCount, deadline)
            do throws(WireError) {
                return (try PKCS11Answer(parsing: fields), header.secretCount)
            } catch {
                throw Failure(CKR_DEVICE_ERROR, "the host sent a malformed answer")
            }
        }
    }

    private func header(_ deadline: Deadline) throws(Failure) -> FrameHeader {
        let (descriptor, inode) = unsafe (fields.pointee.descriptor, fields.pointee.inode)
        try check(tokenkit_await(descriptor, inode, deadline.time))
        let bytes = try bytes(FrameHeader.byteCount, deadline)
        do throws(WireError) { return try FrameHeader(parsing: bytes) } catch {
            throw Failure(CKR_DEVICE_ERROR, "the host sent a malformed message")
        }
    }

    private func bytes(_ count: Int, _ deadline: Deadline) throws(Failure) -> [UInt8] {
        guard count > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: count)
        let (descriptor, inode) = unsafe (fields.pointee.descriptor, fields.pointee.inode)
        let result = unsafe bytes.withUnsafeMutableBytes {
            unsafe tokenkit_receive(descriptor, inode, $0.baseAddress, count, deadline.time)
        }
        try check(result)
        return bytes
    }

    /// Reads secrets into the program's memory.
    func receive(_ count: Int, to destination: UnsafeMutableRawPointer, _ deadline: Deadline) throws(Failure) {
        let (descriptor, inode) = unsafe (fields.pointee.descriptor, fields.pointee.inode)
        try check(unsafe tokenkit_receive(descriptor, inode, destination, count, deadline.time))
    }

    private func check(_ result: Int32) throws(Failure) {
        // A working host would have sent a sign of life.
        if Int(result) == tokenkit_timed_out { unsafe Host.drop(fields.pointee.host) }
        if Int(result) == tokenkit_unread { throw hostEnded }
        guard result == 0 else { throw hostFailed }
    }
}

extension tokenkit_connection {
    /// Whether the descriptor is still the same socket: programs close descriptors that are not theirs, and get the numbers again
    /// for other files.
    var isOpen: Bool { unsafe inode != 0 && tokenkit_socket_inode(descriptor) == inode }

    /// Closes the socket. `shutdown` tells the host even where a child by `fork` has the socket open too; a parent's connection
    /// stays open.
    mutating func close() {
        if unsafe isOpen {
            if unsafe Initialisation.isOfOwner(initialisation) { _ = unsafe shutdown(descriptor, Int32(SHUT_RDWR)) }
            _ = unsafe CPKCS11Module.close(descriptor)
        }
        unsafe inode = 0
        unsafe attributes.forget()
    }
}
