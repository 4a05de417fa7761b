internal import CCryptoki
internal import CThinClient

/// An answer with unread secrets.
struct Reply: ~Copyable {
    let answer: PKCS11Answer
    private(set) var secretCount: Int
    private let connection: Connection
    private let initialisation: UInt64
    private let deadline: Deadline

    /// Asks the host and waits for its answer, which may hold any return value.
    ///
    /// A call that the host left unread as it ended is sent to the next host, which knows none of the former host's handles, so
    /// that nothing is done twice.
    ///
    /// - Throws: `CKR_DEVICE_ERROR` where the host does not answer; ``Failure/isMissingHost``.
    static func ask(
        _ call: PKCS11Call, _ context: inout CallContext, sending secrets: borrowing Secrets = Secrets()
    ) throws(Failure) -> Reply {
        var call = call
        if let begun = BegunSignature.take(before: call, context.initialisation), !call.begin(with: begun) {
            // The host answers the call itself with CKR_OPERATION_NOT_INITIALIZED where C_SignInit fails now.
            _ = try ask(begun, &context, sending: Secrets(), AttributeMemory.changes)
        }
        // Another thread may read attributes while the host works on the call. They are stale once the call ends.
        if call.function.mayChangeObjects { AttributeMemory.noteChange() }
        defer { if call.function.mayChangeObjects { AttributeMemory.noteChange() } }
        let changes = AttributeMemory.changes
        do throws(Failure) {
            return try ask(call, &context, sending: secrets, changes)
        } catch {
            // C_Finalize of another thread ends the host, or else its connections, as well.
            guard error.isUnread, context.waits, Initialisation.isCurrent(context.initialisation) else { throw error }
        }
        return try ask(call, &context, sending: secrets, changes)
    }

    /// - Throws: a failure that is ``Failure/isUnread`` where another host can be asked.
    private static func ask(
        _ call: PKCS11Call, _ context: inout CallContext, sending secrets: borrowing Secrets, _ changes: UInt64
    ) throws(Failure) -> Reply {
        let connection: Connection
        do throws(Failure) {
            connection = try Connections.take(&context)
        } catch {
            guard error.isMissingHost, !call.function.takesSlot else { throw error }
            throw Failure(CKR_SESSION_HANDLE_INVALID, isHost: false, error.reason)
        }
        do throws(Failure) {
            let number = try connection.send(call.encoded(), secrets, context.deadline)
            let (kind, fields, secretCount) = try connection.receive(number, &context.deadline)
            guard kind == .answer else { throw Failure(CKR_DEVICE_ERROR, "the host sent something else") }
            let answer = try parsed(fields)
            let deadline = context.deadline
            context.deadline.renew()
            context.log.note(answer.notes)
            if call.function == .getAttributeValue {
                unsafe Client.attributes(of: connection).pointee.keep(answer, call, changes)
            }
            return Reply(
                answer: answer, secretCount: secretCount, connection: connection,
                initialisation: context.initialisation, deadline: deadline)
        } catch {
            let host = unsafe connection.fields.pointee.host
            Connections.discard(connection)
            if error.isUnread, !Host.hasEnded(host) { throw hostFailed }
            throw error
        }
    }

    private static func parsed(_ fields: [UInt8]) throws(Failure) -> PKCS11Answer {
        do throws(WireError) { return try PKCS11Answer(parsing: fields) } catch {
            throw Failure(CKR_DEVICE_ERROR, "the host sent a malformed answer")
        }
    }

    private init(
        answer: PKCS11Answer, secretCount: Int, connection: Connection, initialisation: UInt64, deadline: Deadline
    ) {
        self.answer = answer
        self.secretCount = secretCount
        self.connection = connection
        self.initialisation = initialisation
        self.deadline = deadline
    }

    deinit {
        // Unread bytes would be taken for the next answer.
        if secretCount == 0 {
            Connections.giveBack(connection, initialisation)
        } else {
            Connections.discard(connection)
        }
    }

    /// The number of the host that answered.
    var host: UInt64 { unsafe connection.fields.pointee.host }

    /// - Throws: the answer's return value, if that is a failure.
    func requireSuccess() throws(Failure) {
        guard answer.returnValue == UInt64(CKR_OK) else { throw Failure(CK_RV(answer.returnValue)) }
    }

    /// - Throws: `CKR_DEVICE_ERROR` where the answer has fewer numbers.
    func number(_ index: Int) throws(Failure) -> CK_ULONG {
        guard answer.numbers.count > index else { throw Reply.malformed }
        return CK_ULONG(answer.numbers[index])
    }

    /// Reads the next secrets into the program's memory.
    ///
    /// - Throws: `CKR_DEVICE_ERROR`.
    mutating func receive(_ count: Int, to destination: UnsafeMutableRawPointer) throws(Failure) {
        guard count <= secretCount else { throw Reply.malformed }
        try unsafe connection.receive(count, to: destination, deadline)
        secretCount -= count
    }

    static let malformed = Failure(CKR_DEVICE_ERROR, "the host answered what the function does not")
}

extension PKCS11Call {
    /// Makes a call that has only a return value.
    func perform(
        _ context: inout CallContext, sending secrets: borrowing Secrets = Secrets()
    ) throws(Failure) {
        try Reply.ask(self, &context, sending: secrets).requireSuccess()
    }

    /// Asks the host for one number.
    func number(
        _ context: inout CallContext, sending secrets: borrowing Secrets = Secrets()
    ) throws(Failure) -> CK_ULONG {
        let reply = try Reply.ask(self, &context, sending: secrets)
        try reply.requireSuccess()
        return try reply.number(0)
    }

    /// Makes a call with output, by the rules for a program's buffer (PKCS #11 §5.2): the host is told the buffer's
    /// length, and does nothing where it is too short.
    ///
    /// - Throws: `CKR_BUFFER_TOO_SMALL`, with the length that is needed in `length`.
    func output(
        _ buffer: UnsafeMutablePointer<UInt8>?, _ length: UnsafeMutablePointer<CK_ULONG>?,
        _ context: inout CallContext, sending secrets: borrowing Secrets = Secrets()
    ) throws(Failure) {
        let length = try unsafe required(length)
        var call = self
        call.numbers.append(unsafe buffer == nil ? PKCS11Call.null : UInt64(min(length.pointee, CK_ULONG(Int.max))))
        var reply = try Reply.ask(call, &context, sending: secrets)
        if reply.answer.returnValue == UInt64(CKR_BUFFER_TOO_SMALL) { unsafe length.pointee = try reply.number(0) }
        try reply.requireSuccess()
        let count = try reply.number(0)
        guard let buffer = unsafe buffer else {
            unsafe length.pointee = count
            return
        }
        guard count == CK_ULONG(reply.secretCount), unsafe count <= length.pointee else { throw Reply.malformed }
        try unsafe reply.receive(Int(count), to: buffer)
        unsafe length.pointee = count
    }

    /// Copies a list of numbers to the program's buffer. PKCS #11 §5.2.
    static func give(
        _ numbers: [UInt64], _ buffer: UnsafeMutablePointer<CK_ULONG>?, _ count: UnsafeMutablePointer<CK_ULONG>
    ) throws(Failure) {
        let room = unsafe count.pointee
        unsafe count.pointee = CK_ULONG(numbers.count)
        guard let buffer = unsafe buffer else { return }
        guard room >= CK_ULONG(numbers.count) else { throw Failure(CKR_BUFFER_TOO_SMALL) }
        for index in numbers.indices { unsafe buffer[index] = CK_ULONG(numbers[index]) }
    }
}

func required<Pointee>(_ pointer: UnsafeMutablePointer<Pointee>?) throws(Failure) -> UnsafeMutablePointer<Pointee> {
    guard let pointer = unsafe pointer else { throw argumentsBad }
    return unsafe pointer
}
