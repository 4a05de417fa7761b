/// Facts of an item on a token, from the token's driver, that its attributes lack and PKCS #11 shows.
package struct TokenTraits: Hashable, Sendable {
    /// When a private key or a data object wants the PIN.
    package enum PINUse: UInt8, Hashable, Sendable, CaseIterable {
        case never, once
        /// Right before each use.
        case always
    }

    /// Whether a private key waits for a touch of its token.
    package enum TouchUse: UInt8, Hashable, Sendable, CaseIterable {
        case unknown, never
        /// For each use, or once in a while.
        case expected
    }

    /// The `CKA_ID`; nil for an item that programs are not shown.
    package let cryptokiID: [UInt8]?
    package let pinUse: PINUse
    package let touchUse: TouchUse
    /// The label of a private key's public half, where it is another; nil for the same.
    package let publicLabel: String?
    /// The object identifier of a data object in DER, tag and length included; empty for an object without one.
    package let objectIdentifier: [UInt8]

    package init(
        cryptokiID: [UInt8]? = nil, pinUse: PINUse = .never, touchUse: TouchUse = .unknown,
        publicLabel: String? = nil, objectIdentifier: [UInt8] = []
    ) {
        self.cryptokiID = cryptokiID
        self.pinUse = pinUse
        self.touchUse = touchUse
        self.publicLabel = publicLabel
        self.objectIdentifier = objectIdentifier
    }
}
