import Foundation
import VirtualCard

/// A private pcscd with a virtual card in its reader, as on the machine of a person who has plugged one in.
public final class DaemonWithCard: Sendable {
    /// The daemon.
    public let daemon: PrivatePCSCD
    /// The connection of the card and the reader, through which the card can be removed, inserted and made to fail.
    public let link: VPCDLink

    private let served = DispatchGroup()

    /// Starts a daemon, inserts the card and waits until clients see it.
    ///
    /// - Parameters:
    ///   - reader: The name of the reader; ykcs11 sees only names that start with "Yubico".
    ///   - driver: A driver in front of vpcd; nil for none.
    public init(
        _ card: VirtualCard, reader: String = "Virtual PCD", driver: PrivatePCSCD.ReaderDriver? = nil
    ) throws {
        let daemon = try PrivatePCSCD(reader: reader, driver: driver)
        let link = try VPCDLink(card: card, connecting: { try? daemon.connectCard() })
        (self.daemon, self.link) = (daemon, link)
        Thread.detached(in: served) { try? link.run() }
        link.insert()
        try waitForCard()
    }

    deinit {
        link.stop()
        served.wait()
    }

    /// The card.
    public var card: VirtualCard { link.card }

    /// Waits until clients see the card, because the daemon polls the reader several times a second.
    public func waitForCard() throws {
        guard try eventually({ try hasCard }) else { throw NoCard() }
    }

    /// Waits until clients see that there is no card.
    public func waitForNoCard() throws {
        try eventually { try !hasCard }
    }

    private var hasCard: Bool { get throws { try run(["opensc-tool", "--reader", "0", "--atr"]).status == 0 } }

    /// Runs a program as a client of the daemon.
    public func run(_ command: [String], input: [UInt8] = []) throws -> ProgramResult {
        try daemon.run(command, input: input)
    }

    /// The daemon never saw the card.
    public struct NoCard: Error {}
}
