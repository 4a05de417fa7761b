package import CryptokiNames

extension CryptokiTokenName {
    /// The name of a card.
    package init(_ identity: TokenIdentity) {
        self.init(
            ofCard: identity.label, manufacturer: identity.manufacturer, model: identity.model,
            serialNumber: identity.serialNumber, instance: identity.id.instance)
    }
}
