package import CryptokiNames

extension CryptokiTokenName {
    /// The name of a card.
    package init(_ identity: TokenIdentity) {
        self.init(
            label: identity.label, manufacturer: identity.manufacturer ?? "", model: identity.model ?? "card",
            serialNumber: CryptokiTokenName.serialNumber(of: identity))
    }

    /// At most sixteen characters that tell the card from others, and never change.
    private static func serialNumber(of identity: TokenIdentity) -> String {
        if let number = identity.serialNumber, number.utf8.count <= 16 { return number }
        return String(identity.id.instance.filter { $0 != "-" }.suffix(16))
    }
}
