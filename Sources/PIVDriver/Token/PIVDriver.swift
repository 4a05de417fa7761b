public import TokenKit

/// The driver of cards with the PIV application of SP 800-73, and Yubico's additions to it.
public struct PIVDriver: TokenDriver {
    public let name = PIVToken.driverName
    private let memory: (any TokenMemory)?
    private let certificates: (any TokenMemory)?
    private let rejectedPINs: (any TokenMemory)?
    private let provesBeforePIN: @Sendable () -> Bool

    /// - Parameters:
    ///   - memory: remembers the retired slots in use, for cards that do not tell them. Without it, such slots are read only when
    ///     they are asked for by name.
    ///   - certificates: remembers certificates, so that only the beginning of each is read again.
    ///   - rejectedPINs: remembers the PINs that a card refused, for all programs of the user, so that none sends them again.
    ///   - provesBeforePIN: whether a card must prove that it holds the key by which it is known, before it gets a PIN.
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

    public func dataObject(named name: TokenObjectID) -> TokenDataObject? {
        PIVContainer.named(name.rawValue).map(TokenDataObject.init)
    }

    public func dataObject(of key: TokenObjectID) -> TokenDataObject? {
        PIVSlot(key).map { TokenDataObject($0.container) }
    }

    public func facts(of data: TokenObjectID, content: [UInt8]) throws(TokenError) -> [TokenFact] {
        try PIVContainer.named(data.rawValue)?.facts(of: content) ?? []
    }

    /// Selects the PIV application; no other application is ever tried.
    public func recognize(_ card: inout CardTransaction, atr: ATR) throws(TokenError) -> (any Token)? {
        let response = try card.exchange(PIVCommand.select)
        guard response.status.isSuccess else {
            // An application that crashes is not an absent one.
            if response.status == .noPreciseDiagnosis {
                throw TokenError(response.status, "select the PIV application")
            }
            return nil
        }
        let application = try ApplicationTemplate(parsing: response.data)
        guard application.isPIV else { return nil }
        return PIVToken(
            atr: atr, application: application, selectedIn: card, memory: memory, certificates: certificates,
            rejectedPINs: rejectedPINs, provesBeforePIN: provesBeforePIN)
    }
}
