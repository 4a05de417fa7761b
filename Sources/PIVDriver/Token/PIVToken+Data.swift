internal import SecureBytes
internal import SystemCrypto
public import TokenKit

// Data objects: every container of SP 800-73-5 part 1 table 3 except the certificates of slots.
extension PIVToken {
    public var possibleData: [TokenDataObject] { PIVToken.possibleData }

    private static let possibleData = PIVContainer.standard.filter { !$0.belongsToSlot }.map(TokenDataObject.init)

    public var knownData: Set<TokenObjectID> {
        Set(knowledge.present.filter { $0.readRule == .always }.map { TokenObjectID($0.name) })
    }

    public mutating func look(
        for data: TokenObjectID, _ card: inout CardTransaction
    ) throws(TokenError) -> TokenDataFinding {
        guard let container = PIVContainer.named(data.rawValue) else { return .absent }
        let response = try sendForFirstPart(PIVCommand.getData(container), &card)
        return try found(response, in: container).map { PIVFormat.finding(in: $0, of: container) } ?? .absent
    }

    public mutating func content(
        of data: TokenObjectID, _ card: inout CardTransaction
    ) throws(TokenError) -> [UInt8]? {
        guard let container = PIVContainer.named(data.rawValue) else { return nil }
        return try read(container, &card)
    }
}

extension TokenDataObject {
    init(_ container: PIVContainer) {
        let identifier = container.objectIdentifier.flatMap { OID($0) }
        self.init(
            id: TokenObjectID(container.name), label: container.title, tag: container.tag.description,
            objectIdentifier: identifier.map { TLV(0x06, $0.content).encoded() } ?? [],
            needsPIN: container.readRule == .pin)
    }
}

extension PIVContainer {
    /// Whether the container holds the certificate of a key, which is listed with that key.
    var belongsToSlot: Bool { PIVSlot.allCases.contains { $0.container == self } }
}
