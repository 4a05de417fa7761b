internal import CThinClient

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
        return connection.initialisation == initialisation && Host.isServing(connection.host)
            && connection.isOpen
            && tokenkit_is_stale(connection.descriptor) == 0
    }

    func open(_ initialisation: UInt64, _ deadline: Deadline) throws(Failure) {
        let (descriptor, host) = try Host.makeConnection(initialisation, deadline)
        tokenkit_set_patience(descriptor)
        unsafe fields.pointee = tokenkit_connection(
            descriptor: descriptor, request: 0, inode: tokenkit_socket_inode(descriptor),
            initialisation: initialisation, host: host)
    }

    func close() {
        unsafe fields.pointee.close()
        Client.connectionHasClosed(index)
    }

    /// Sends a request with the secrets that the program's own memory holds.
    ///
    /// - Returns: the number of the request.
    /// - Throws: a failure that is ``Failure/isUnread`` where the host is gone.
    func send(_ call: [UInt8], _ secrets: borrowing Secrets, _ deadline: Deadline) throws(Failure) -> UInt32 {
        let number = unsafe fields.pointee.request &+ 1
        unsafe fields.pointee.request = number
        try send(.request, number, call, secrets, deadline)
        return number
    }

    func send(
        _ kind: FrameHeader.Kind, _ number: UInt32, _ call: [UInt8], _ secrets: borrowing Secrets, _ deadline: Deadline
    ) throws(Failure) {
        guard call.count <= FrameHeader.maximumFields, secrets.count <= FrameHeader.maximumSecrets else {
            throw Failure(Client.tooLong, "the arguments are longer than the host takes")
        }
        let header = FrameHeader(kind, number: number, fieldCount: call.count, secretCount: secrets.count)
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
    }

    /// Waits for a frame of the answer to a request, for as long as the host says that it works on the request.
    ///
    /// - Parameter deadline: until when the host has to say something; afterwards, until when the secrets have to follow.
    func receive(
        _ number: UInt32, _ deadline: inout Deadline
    ) throws(Failure) -> (kind: FrameHeader.Kind, fields: [UInt8], secretCount: Int) {
        while true {
            let header = try header(deadline)
            guard header.number == number else { throw Failure(Client.hostFailed, "the host answered something else") }
            if header.kind == .working, header.fieldCount == 0, header.secretCount == 0 {
                deadline.renew()
                continue
            }
            deadline.extendForRest()
            return (header.kind, try bytes(header.fieldCount, deadline), header.secretCount)
        }
    }

    private func header(_ deadline: Deadline) throws(Failure) -> FrameHeader {
        let (descriptor, inode) = unsafe (fields.pointee.descriptor, fields.pointee.inode)
        try check(tokenkit_await(descriptor, inode, deadline.time))
        let bytes = try bytes(FrameHeader.byteCount, deadline)
        do throws(WireError) { return try FrameHeader(parsing: bytes) } catch {
            throw Failure(Client.hostFailed, "the host sent a malformed message")
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
    var isOpen: Bool { inode != 0 && tokenkit_socket_inode(descriptor) == inode }

    /// Closes the socket. `shutdown` tells the host even where a child by `fork` has the socket open too; a parent's connection
    /// stays open.
    mutating func close() {
        if isOpen {
            if Initialisation.isOfOwner(initialisation) { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
            _ = CThinClient.close(descriptor)
        }
        inode = 0
    }
}
