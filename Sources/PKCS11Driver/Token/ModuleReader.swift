internal import TokenKit

/// A slot of a module in the place of a reader, so that what is said of cards holds for its tokens: one owner, one call at a
/// time, removal, and a PIN that counts for as long as the connection does.
struct ModuleReader: CardReader {
    private let host: ModuleHost
    private let slot: UInt64
    let name: String

    init(_ host: ModuleHost, slot: UInt64, description: String) {
        self.host = host
        self.slot = slot
        name = description.isEmpty ? host.module.name : "\(description) (\(host.module.name))"
    }

    var occupancy: ReaderOccupancy {
        ReaderOccupancy(hasCard: (try? host.tokens().answer.contains { $0.slot == slot }) ?? false)
    }

    func connect(trace: (any CardTrace)?, _ wait: CardWait) throws(CardError) -> any CardConnection {
        do throws(TokenError) {
            let (tokens, run) = try host.tokens()
            guard let token = tokens.first(where: { $0.slot == slot }) else {
                throw TokenError(.card(.noCard), "there is no token in '\(name)'")
            }
            return ModuleConnection(host, token, run)
        } catch {
            if case .card(let code) = error.code { throw CardError(code, error.reason) }
            throw CardError(.communication, error.reason)
        }
    }
}

/// A token of a module while it stays in its slot, and the module's process runs.
final class ModuleConnection: CardConnection {
    private let host: ModuleHost
    private let token: ModuleTokenInfo
    private let run: Int

    init(_ host: ModuleHost, _ token: ModuleTokenInfo, _ run: Int) {
        self.host = host
        self.token = token
        self.run = run
    }

    /// A module tells of none.
    var atr: ATR { ATR([]) }

    var isCardPresent: Bool { (try? look()) ?? false }

    func withTransaction<Result: ~Copyable>(
        _ hold: CardHold, _ wait: CardWait, _ body: (inout CardTransaction) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        guard try look() else { throw ModuleConnection.exchanged }
        var card = CardTransaction(
            on: NoChannel(), link: CardLink(atr: atr, transmissionProtocol: .t1), epoch: run)
        return try body(&card)
    }

    static let exchanged = TokenError(.card(.removed), "the token was exchanged (list it again)")

    private func look() throws(TokenError) -> Bool {
        let now: ModuleTokenInfo
        do throws(TokenError) {
            now = try host.recentToken(in: token.slot, run: run)
        } catch {
            guard error.code == .card(.noCard) else { throw error }
            return false
        }
        return now.isSameToken(as: token)
    }

    func disconnect(resetting: Bool) {
        guard resetting else { return }
        _ = try? host.ask(.logOut(slot: token.slot), in: run) { _ in () }
    }
}

/// A module's token takes no commands of a card.
private final class NoChannel: CardChannel {
    func transmit(_ command: Span<UInt8>) throws(CardError) -> [UInt8] {
        throw CardError(.invalidCommand, "a token of a PKCS#11 module takes no commands of a card")
    }
}

extension ModuleTokenInfo {
    func isSameToken(as other: ModuleTokenInfo) -> Bool {
        (serialNumber, label, model, manufacturer)
            == (other.serialNumber, other.label, other.model, other.manufacturer)
    }
}
