import SecureBytes
import Synchronization
import SystemCrypto
import TokenKit

/// A card that is not PIV: one key on P-256, a PIN of four digits, and its own application.
///
///     SELECT    00 A4 04 00, `BadgeCard.application`
///     READ KEY  80 CA 00 00 → the SubjectPublicKeyInfo
///     READ      80 CA 00 01 → its holder's name; 80 CA 00 02 → the code of the door, after the PIN
///     VERIFY    00 20 00 00, the PIN
///     SIGN      80 88 00 00, a digest → ECDSA-Sig-Value
public final class BadgeCard: Sendable {
    public static let holder = "Ada"
    /// The code of the door, which is no text.
    public static let code: [UInt8] = [0xFF, 0x12]
    static let application: [UInt8] = [0xF0, 0x42, 0x41, 0x44, 0x47, 0x45]

    private struct State {
        var isSelected = false
        var isVerified = false
        var triesLeft = 3
        var pinsSent = 0
        var signatures = 0
    }

    public let publicKey: PublicKey
    private let key: PrivateKey
    private let pin = Array("4711".utf8)
    private let state = Mutex(State())

    public init() throws {
        key = try PrivateKey.generate(.ecP256)
        publicKey = key.publicKey
    }

    public var pinsSent: Int { state.withLock { $0.pinsSent } }
    public var signatures: Int { state.withLock { $0.signatures } }

    func reset() { state.withLock { ($0.isSelected, $0.isVerified) = (false, false) } }

    func process(_ bytes: [UInt8]) -> [UInt8] {
        guard let command = try? CommandAPDU.parse(bytes).command else { return [0x67, 0x00] }
        return state.withLock { state in
            switch (command.cla, command.ins) {
            case (0x00, 0xA4):
                state.isSelected = command.data == BadgeCard.application
                state.isVerified = false
                return state.isSelected ? [0x90, 0x00] : [0x6A, 0x82]
            case _ where !state.isSelected: return [0x69, 0x85]
            case (0x80, 0xCA) where command.p2 == 1: return Array(BadgeCard.holder.utf8) + [0x90, 0x00]
            case (0x80, 0xCA) where command.p2 == 2:
                return state.isVerified ? BadgeCard.code + [0x90, 0x00] : [0x69, 0x82]
            case (0x80, 0xCA): return publicKey.spki + [0x90, 0x00]
            case (0x00, 0x20): return verify(command.data, &state)
            case (0x80, 0x88):
                guard state.isVerified else { return [0x69, 0x82] }
                guard let signature = try? key.sign(digest: command.data, using: .ecdsa(nil)) else {
                    return [0x6A, 0x80]
                }
                state.signatures += 1
                return signature + [0x90, 0x00]
            default: return [0x6D, 0x00]
            }
        }
    }

    private func verify(_ value: [UInt8], _ state: inout State) -> [UInt8] {
        guard !value.isEmpty else {
            return state.isVerified ? [0x90, 0x00] : [0x63, 0xC0 | UInt8(state.triesLeft)]
        }
        state.pinsSent += 1
        state.isVerified = value == pin && state.triesLeft > 0
        state.triesLeft = state.isVerified ? 3 : max(state.triesLeft - 1, 0)
        return state.isVerified ? [0x90, 0x00] : [0x63, 0xC0 | UInt8(state.triesLeft)]
    }
}

/// A reader with such a card in it.
public final class BadgeReader: CardReader {
    public let name = "Badge Reader"
    private let connection: Connection

    public init(_ card: BadgeCard) {
        connection = Connection(card)
    }

    public var occupancy: ReaderOccupancy { ReaderOccupancy(hasCard: true, changeCount: 1) }

    public func connect(trace: (any CardTrace)?, _ wait: CardWait) -> any CardConnection { connection }

    private final class Connection: CardConnection {
        let atr = ATR([0x3B, 0x80, 0x01, 0x81])
        private let card: BadgeCard
        private let epoch = Mutex(0)

        init(_ card: BadgeCard) {
            self.card = card
        }

        var isCardPresent: Bool { true }

        func withTransaction<Result: ~Copyable>(
            _ hold: CardHold, _ wait: CardWait, _ body: (inout CardTransaction) throws(TokenError) -> Result
        ) throws(TokenError) -> Result {
            let channel = AnsweringChannel { [card] command throws(CardError) in card.process(command) }
            var transaction = CardTransaction(
                on: channel, link: CardLink(atr: atr, transmissionProtocol: .t1), epoch: epoch.withLock { $0 })
            return try body(&transaction)
        }

        func disconnect(resetting: Bool) {
            guard resetting else { return }
            card.reset()
            epoch.withLock { $0 += 1 }
        }
    }
}
