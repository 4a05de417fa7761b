public import TokenKit

/// Knows cards with the PIV application of SP 800-73, and what Yubico adds to it.
public struct PIVDriver: TokenDriver {
    public let name = PIVToken.driverName
    private let memory: (any TokenMemory)?
    private let certificates: (any TokenMemory)?
    private let rejectedPINs: (any TokenMemory)?
    private let provesBeforePIN: @Sendable () -> Bool

    /// - Parameters:
    ///   - memory: where to remember which retired slots are in use on cards that do not tell. Without it such slots are
    ///     read only when they are asked for by name.
    ///   - certificates: where to remember certificates, so that of each only the beginning is read again.
    ///   - rejectedPINs: where all programs of the user remember what a card refused, so that none sends it again.
    ///   - provesBeforePIN: whether a card is to show that it holds the key by which it is known before it is given a PIN.
    public init(
        memory: (any TokenMemory)? = nil, certificates: (any TokenMemory)? = nil,
        rejectedPINs: (any TokenMemory)? = nil, provesBeforePIN: @escaping @Sendable () -> Bool = { false }
    ) {
        self.provesBeforePIN = provesBeforePIN
        self.memory = memory
        self.certificates = certificates
        self.rejectedPINs = rejectedPINs
    }

    public func knownTokens() -> [KnownToken] {
        let cards = certificates?.all().compactMap { RememberedCard(parsing: $0) } ?? []
        return cards.map { KnownToken(identity: $0.identity, inventory: $0.inventory) }
    }

    public var keyNames: [TokenObjectID] { PIVSlot.allCases.map(\.objectID) }

    public var dataObjects: [TokenDataObject] { PIVContainer.all.map(TokenDataObject.init) }

    public func facts(of data: TokenObjectID, content: [UInt8]) throws(TokenError) -> [TokenFact] {
        try PIVContainer.named(data.rawValue)?.facts(of: content) ?? []
    }

    /// Selects the PIV application; no other application is ever tried.
    public func recognize(_ card: inout CardTransaction, atr: ATR) throws(TokenError) -> (any Token)? {
        let response = try card.exchange(PIVCommand.select)
        guard response.status.isSuccess else {
            // An application that crashes is no reason to believe that there is none.
            if response.status == .noPreciseDiagnosis { throw TokenError(response.status, "selecting PIV") }
            return nil
        }
        let application = try ApplicationTemplate(parsing: response.data)
        guard application.isPIV else { return nil }
        return PIVToken(
            atr: atr, application: application, selectedIn: card, memory: memory, certificates: certificates,
            rejectedPINs: rejectedPINs, provesBeforePIN: provesBeforePIN)
    }
}
