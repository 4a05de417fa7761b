import SecureBytes
import SystemCrypto
import TokenKit

/// A driver for ``BadgeCard`` as another project would write it, with TokenKit only.
public struct BadgeDriver: TokenDriver {
    public let name = "badge"
    public let keyNames = [BadgeToken.key]
    public let dataObjects = [BadgeToken.holder, BadgeToken.code]

    public init() {}

    public func facts(of data: TokenObjectID, content: [UInt8]) throws(TokenError) -> [TokenFact] {
        guard let text = String(validating: content, as: UTF8.self) else {
            throw TokenError(.malformed, "'\(data)' of the badge is no text")
        }
        return [TokenFact("Holder", text)]
    }

    public func recognize(_ card: inout CardTransaction, atr: ATR) throws(TokenError) -> (any Token)? {
        try BadgeToken.select(&card) ? BadgeToken(epoch: card.epoch) : nil
    }
}

struct BadgeToken: Token {
    var epoch: Int
    var pins = PINSession()
    var publicKey: [UInt8]?

    static let key = TokenObjectID("door")
    static let holder = TokenDataObject(id: TokenObjectID("holder"), label: "Badge Holder", needsPIN: false)
    static let code = TokenDataObject(id: TokenObjectID("code"), label: "Door Code", tag: "02", needsPIN: true)

    let possibleData = [holder, code]

    let pinRules = PINRules(lengths: 4...4)
    var bindingKey: TokenObjectID? { nil }

    static func select(_ card: inout CardTransaction) throws(TokenError) -> Bool {
        try status(of: CommandAPDU(ins: 0xA4, p1: 0x04, p2: 0x00, data: BadgeCard.application), &card) == .success
    }

    private static func status(of command: CommandAPDU, _ card: inout CardTransaction) throws(TokenError) -> StatusWord
    {
        try response(to: command, &card).status
    }

    private static func response(
        to command: CommandAPDU, _ card: inout CardTransaction
    ) throws(TokenError) -> ResponseAPDU {
        do throws(CardError) { return try card.send(command) } catch { throw TokenError(error) }
    }

    /// Sends a command, after a new selection of the application if another program has reset the card.
    private mutating func send(_ command: CommandAPDU, _ card: inout CardTransaction) throws(TokenError) -> ResponseAPDU
    {
        if card.epoch != epoch {
            guard try BadgeToken.select(&card) else { throw TokenError(.unrecognized, "this is no badge any more") }
            epoch = card.epoch
            pins.forgetPresented()
        }
        return try BadgeToken.response(to: command, &card)
    }

    func identity(_ card: inout CardTransaction) throws(TokenError) -> TokenIdentity {
        TokenIdentity(id: TokenID(driver: "badge", instance: "12"), label: "Badge 12")
    }

    mutating func inventory(
        _ selection: TokenSelection, _ card: inout CardTransaction
    ) throws(TokenError) -> TokenInventory {
        switch selection {
        case .object(let id), .key(let id), .privateKey(let id):
            guard id == BadgeToken.key else { throw TokenError(.notFound, "a badge has no object '\(id)'") }
        case .all: break
        }
        if publicKey == nil {
            publicKey = try send(CommandAPDU(cla: 0x80, ins: 0xCA, p1: 0, p2: 0, expectedLength: 256), &card).data
        }
        let key = TokenKey(kind: .ecP256, publicKey: publicKey ?? [], usage: .sign, pinPolicy: .once)
        return TokenInventory(objects: [TokenObject(id: BadgeToken.key, label: "Door key", key: key)])
    }

    func facts(_ card: inout CardTransaction) throws(TokenError) -> [TokenFact] {
        [TokenFact("Doors", "front, back", parts: ["count": .number(2), "doors": .list(["front", "back"])])]
    }

    mutating func content(of data: TokenObjectID, _ card: inout CardTransaction) throws(TokenError) -> [UInt8]? {
        guard let index = possibleData.firstIndex(where: { $0.id == data }) else { return nil }
        let read = CommandAPDU(cla: 0x80, ins: 0xCA, p1: 0, p2: UInt8(index + 1), expectedLength: 256)
        let response = try send(read, &card)
        guard response.status == .success else { throw TokenError(.pinRequired, "the badge wants the PIN first") }
        return response.data
    }

    mutating func status(of pin: PINKind, _ card: inout CardTransaction) throws(TokenError) -> PINStatus {
        let status = try send(CommandAPDU(ins: 0x20, p1: 0, p2: 0), &card).status
        let triesLeft = BadgeToken.triesLeft(status)
        pins.learn(status == .success ? .all : triesLeft.map { .left($0) } ?? .unknown, of: .pin)
        return PINStatus(triesLeft: triesLeft, isVerified: status == .success)
    }

    /// ISO/IEC 7816-4 §7.5.1: `63CX`.
    private static func triesLeft(_ status: StatusWord) -> Int? {
        status.rawValue & 0xFFF0 == 0x63C0 ? Int(status.rawValue & 0xF) : nil
    }

    func checkFormat(of pin: borrowing PIN, as kind: PINKind) throws(TokenError) {
        guard pinRules.lengths.contains(pin.count) else {
            throw TokenError(.pinFormat, "the PIN of a badge has four digits; nothing was sent to the card")
        }
    }

    mutating func verify(
        _ pin: borrowing PIN, lastTry: LastTry, _ card: inout CardTransaction
    ) throws(TokenError) {
        try checkFormat(of: pin, as: .pin)
        if pins.wantsTries(of: .pin, for: pin) { _ = try status(of: .pin, &card) }
        try pins.requireTry(pin, as: .pin, lastTry)
        pins.sending(.pin)
        let status = try send(CommandAPDU(ins: 0x20, p1: 0, p2: 0, data: Array(copying: pin.bytes)), &card).status
        guard status == .success else {
            let triesLeft = BadgeToken.triesLeft(status)
            pins.refused(pin, as: .pin, triesLeft: triesLeft)
            throw TokenError(.pinIncorrect, "wrong PIN", triesLeft: triesLeft, status: status)
        }
        pins.accepted(pin, as: .pin)
    }

    func change(
        _ kind: PINKind, from old: borrowing PIN, to new: borrowing PIN, lastTry: LastTry, _ card: inout CardTransaction
    ) throws(TokenError) { throw BadgeToken.unsupported }

    func unblock(
        with unblockingKey: borrowing PIN, newPIN: borrowing PIN, lastTry: LastTry, _ card: inout CardTransaction
    ) throws(TokenError) { throw BadgeToken.unsupported }

    private static let unsupported = TokenError(.unsupported, "the PIN of a badge is not changed here")

    mutating func logOut(_ card: inout CardTransaction) throws(TokenError) {
        guard try BadgeToken.select(&card) else { throw TokenError(.unrecognized, "this is no badge any more") }
        pins.notPresented()
    }

    mutating func perform(_ operation: TokenOperation, _ card: inout CardTransaction) throws(TokenError) -> Secret {
        guard case .sign(.ecdsa(_, let form), let digest) = operation.action, operation.key == BadgeToken.key else {
            throw TokenError(.invalidArgument, "the key of a badge signs digests by ECDSA")
        }
        let response = try send(
            CommandAPDU(cla: 0x80, ins: 0x88, p1: 0, p2: 0, data: digest, expectedLength: 256), &card)
        guard response.status == .success else { throw TokenError(.pinRequired, "the key wants the PIN") }
        let der = response.data
        let signature = form == .x962 ? der : try? ECDSASignature.fixedWidth(fromDER: der, coordinateLength: 32)
        guard let signature else { throw TokenError(.malformed, "the badge's signature cannot be read") }
        return Secret(copying: signature.span)
    }

    mutating func perform(
        _ operation: TokenOperation, presenting pin: borrowing PIN, lastTry: LastTry, _ card: inout CardTransaction
    ) throws(TokenError) -> Secret {
        try verify(pin, lastTry: lastTry, &card)
        return try perform(operation, &card)
    }
}
