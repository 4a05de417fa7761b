import PIVDriver
import SecureBytes
import TestSupport
import TokenKit
import VirtualCard

/// A reader on a desk, a card in it, and a program that uses it as the keychain does: through a `TokenSlot`.
struct Desk {
    let card: VirtualCard
    let reader: VirtualReader
    let slot: TokenSlot
    let trace = RecordingTrace()

    init(
        _ issued: IssuedCard = IssuedCard(), memory: (any TokenMemory)? = nil,
        certificates: (any TokenMemory)? = nil
    ) throws {
        try self.init(card: issued.make(), memory: memory, certificates: certificates)
    }

    init(card: VirtualCard, memory: (any TokenMemory)? = nil, certificates: (any TokenMemory)? = nil) {
        self.init(card: card, reader: VirtualReader(card: card), memory: memory, certificates: certificates)
    }

    /// A second program at the same reader.
    ///
    /// - Parameter rejectedPINs: its memory of PINs that the card refused.
    func anotherProgram(rejectedPINs: (any TokenMemory)? = nil) -> Desk {
        Desk(card: card, reader: reader, memory: nil, rejectedPINs: rejectedPINs)
    }

    private init(
        card: VirtualCard, reader: VirtualReader, memory: (any TokenMemory)?, certificates: (any TokenMemory)? = nil,
        rejectedPINs: (any TokenMemory)? = nil
    ) {
        self.card = card
        self.reader = reader
        let driver = PIVDriver(memory: memory, certificates: certificates, rejectedPINs: rejectedPINs)
        slot = TokenSlot(reader: reader, drivers: [driver], trace: trace)
    }

    // MARK: - What a program does

    func identity() throws(TokenError) -> TokenIdentity {
        try slot.read { (token, card, _) throws(TokenError) in try token.identity(&card) }
    }

    func inventory(_ selection: TokenSelection = .all) throws(TokenError) -> TokenInventory {
        try slot.read { (token, card, _) throws(TokenError) in try token.inventory(selection, &card) }
    }

    func look(for data: String) throws(TokenError) -> TokenDataFinding {
        try slot.read { (token, card, _) throws(TokenError) in try token.look(for: TokenObjectID(data), &card) }
    }

    func content(of data: String) throws(TokenError) -> [UInt8]? {
        try slot.read { (token, card, _) throws(TokenError) in try token.content(of: TokenObjectID(data), &card) }
    }

    func knownData() throws(TokenError) -> Set<String> {
        try slot.read { (token, _, _) in Set(token.knownData.map(\.rawValue)) }
    }

    func facts() throws(TokenError) -> [TokenFact] {
        try slot.read { (token, card, _) throws(TokenError) in try token.facts(&card) }
    }

    func status(_ kind: PINKind = .pin) throws(TokenError) -> PINStatus {
        try slot.read { (token, card, _) throws(TokenError) in try token.status(of: kind, &card) }
    }

    func verify(_ pin: StaticString = "123456", _ lastTry: LastTry = .keep) throws(TokenError) {
        try once { (token, card) throws(TokenError) in try token.verify(PIN(pin), lastTry: lastTry, &card) }
    }

    func change(
        _ kind: PINKind = .pin, from old: StaticString, to new: StaticString, _ lastTry: LastTry = .keep
    ) throws(TokenError) {
        try once { (token, card) throws(TokenError) in
            try token.change(kind, from: PIN(old), to: PIN(new), lastTry: lastTry, &card)
        }
    }

    func unblock(
        _ key: StaticString = "12345678", newPIN: StaticString, _ lastTry: LastTry = .keep
    ) throws(TokenError) {
        try once { (token, card) throws(TokenError) in
            try token.unblock(with: PIN(key), newPIN: PIN(newPIN), lastTry: lastTry, &card)
        }
    }

    func logOut() throws(TokenError) {
        try once { (token, card) throws(TokenError) in try token.logOut(&card) }
    }

    func perform(_ key: String, _ action: TokenOperation.Action) throws(TokenError) -> [UInt8] {
        let operation = TokenOperation(key: TokenObjectID(key), action: action)
        return try once { (token, card) throws(TokenError) in
            let result = try token.perform(operation, &card)
            return Array(copying: result.bytes)
        }
    }

    func perform(
        _ key: String, _ action: TokenOperation.Action, pin: StaticString, _ lastTry: LastTry = .keep
    ) throws(TokenError) -> [UInt8] {
        try perform(TokenOperation(key: TokenObjectID(key), action: action), pin: pin, lastTry)
    }

    func perform(
        _ operation: TokenOperation, pin: StaticString, _ lastTry: LastTry = .keep
    ) throws(TokenError) -> [UInt8] {
        try once { (token, card) throws(TokenError) in
            let result = try token.perform(operation, presenting: PIN(pin), lastTry: lastTry, &card)
            return Array(copying: result.bytes)
        }
    }

    /// Runs `body` once with the present token, whatever the outcome.
    private func once<Result: Sendable>(
        _ body: (inout any Token, inout CardTransaction) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        let insertion = try slot.read { (_, _, insertion) in insertion }
        return try slot.perform(at: insertion, body)
    }

    // MARK: - What was sent

    /// Commands without the continuations of others, as `INS`.
    var commands: [UInt8] { reader.log.filter { !$0.isContinuation }.map(\.ins) }

    func forgetCommands() { reader.clearLog() }

    func count(_ ins: UInt8) -> Int { commands.count { $0 == ins } }

    /// VERIFY without data.
    var statusQueries: Int { reader.log.count { $0.ins == 0x20 && $0.p1 == 0 && $0.dataCount == 0 } }

    /// Commands that had a PIN in them.
    var pinsSent: Int { reader.log.count { [0x20, 0x24, 0x2C].contains($0.ins) && $0.dataCount > 0 } }
}
