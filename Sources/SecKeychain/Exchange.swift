internal import CSecKeychain
internal import CThinClient

/// An answer whose password is still to be read.
struct Reply: ~Copyable {
    let answer: KeychainAnswer
    private var secretCount: Int
    private let connection: Connection
    private let initialisation: UInt64
    private let deadline: Deadline

    /// Asks the host and waits for its answer. Nothing is asked twice: a host that ends during a call may have carried it out.
    ///
    /// - Parameter password: the password that the call announces.
    /// - Throws: the answer's code where it is a failure; `errSecNotAvailable` where the host ends or does not answer.
    static func ask(
        _ call: KeychainCall, _ context: inout CallContext, sending password: borrowing Secrets = Secrets()
    ) throws(Failure) -> Reply {
        let connection = try Connections.take(&context)
        let reply: Reply
        do throws(Failure) {
            let number = try connection.send(inParts: call.encoded(), password, context.deadline)
            let (fields, secretCount) = try connection.receive(inParts: number, &context.deadline)
            let deadline = context.deadline
            context.deadline.renew()
            reply = Reply(
                answer: try parsed(fields), secretCount: secretCount, connection: connection,
                initialisation: context.initialisation, deadline: deadline)
        } catch {
            let host = unsafe connection.fields.pointee.host
            Connections.discard(connection)
            giveUp(host)
            throw error
        }
        context.log.note(reply.answer)
        guard reply.answer.code == 0 else { throw Failure(reply.answer.code) }
        return reply
    }

    /// Gives up a host that failed. One that goes on later is not to answer what has been given up.
    private static func giveUp(_ host: UInt64) {
        if !Host.hasEnded(host) { Host.drop(host) }
    }

    private static func parsed(_ fields: [UInt8]) throws(Failure) -> KeychainAnswer {
        do throws(WireError) { return try KeychainAnswer(parsing: fields) } catch { throw malformed }
    }

    private init(
        answer: KeychainAnswer, secretCount: Int, connection: Connection, initialisation: UInt64, deadline: Deadline
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

    /// The answer's only item.
    func item() throws(Failure) -> ItemReference {
        guard answer.items.count == 1, let item = answer.items.first else { throw Reply.malformed }
        return ItemReference(item)
    }

    /// The answer's path.
    func path() throws(Failure) -> [UInt8] {
        guard !answer.path.isEmpty else { throw Reply.malformed }
        return answer.path
    }

    /// Reads the password to memory that the caller of a C function frees.
    mutating func password() throws(Failure) -> CallerMemory {
        let memory = try CallerMemory(secretCount)
        let count = secretCount
        if count > 0 {
            do throws(Failure) { try unsafe connection.receive(count, to: memory.start, deadline) } catch {
                memory.free()
                Reply.giveUp(unsafe connection.fields.pointee.host)
                throw error
            }
        }
        secretCount = 0
        return memory
    }

    static let malformed = Failure(Client.hostFailed, "the host answered what the function does not")
}

extension KeychainCall {
    /// A call by which people may be asked unless the program forbids it.
    init(
        _ function: KeychainFunction, keychain: [UInt8]? = nil, item: ItemReference, hasPassword: Bool = false,
        target: [UInt8]? = nil, attributes: [KeychainAttribute] = []
    ) throws(Failure) {
        self.init(
            function, allowsQuestions: Client.allowsQuestions, hasPassword: hasPassword,
            keychain: try item.keychain.used(), target: target, item: item.reference, attributes: attributes)
    }

    /// A call about a keychain, or without an item.
    init(
        _ function: KeychainFunction, in keychain: [UInt8]?, hasPassword: Bool = false, itemClass: UInt32 = 0,
        attributes: [KeychainAttribute] = []
    ) {
        self.init(
            function, allowsQuestions: Client.allowsQuestions, hasPassword: hasPassword, keychain: keychain,
            itemClass: UInt64(itemClass), attributes: attributes)
    }

    /// Makes a call that has only a result code.
    func perform(_ context: inout CallContext, sending password: borrowing Secrets = Secrets()) throws(Failure) {
        _ = try Reply.ask(self, &context, sending: password)
    }
}
