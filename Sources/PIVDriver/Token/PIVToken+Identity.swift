internal import SecureBytes
public import TokenKit
internal import SystemCrypto

// The card's identity. SP 800-73-5 part 1 §3.1.2 takes it from the GUID; without one it comes from the next field that
// tells cards apart.
extension PIVToken {
    public var knownLabel: String? {
        if let label = knownIdentity?.label ?? rememberedLabel { return label }
        guard !quirks.has(.tellsSerialNumber), let uuid = certifiedUUID else { return nil }
        return label(of: TokenID(driver: PIVToken.driverName, instance: uuid), serialNumber: nil)
    }

    public var knownVersion: String? { knownFirmware?.description ?? knowledge.rememberedIdentity?.version }

    private var knownFirmware: Firmware? {
        if case .known(let firmware) = knowledge.firmware { firmware } else { nil }
    }

    /// The card's GUID by a subject alternative name of a certificate that was read: certificates of 9A and 9E must have it (SP
    /// 800-73-5 part 1 §3.1.2), others may. It suffices for a prompt, but does not prove the card's identity.
    private var certifiedUUID: String? {
        let scheme = "urn:uuid:"
        for slot in [PIVSlot.authentication, .cardAuthentication, .signature, .keyManagement] + PIVSlot.retired {
            guard let der = (knowledge.slots[slot] ?? nil)?.certificate, let certificate = try? Certificate(der: der)
            else { continue }
            for case .uri(let uri) in certificate.subjectAlternativeNames where uri.hasPrefix(scheme) {
                return uri.dropFirst(scheme.count).lowercased()
            }
        }
        return nil
    }

    public mutating func identity(_ card: inout CardTransaction) throws(TokenError) -> TokenIdentity {
        let id = try tokenID(&card)
        // The rest of a card's identity does not change while its identifier stays the same.
        if let known = remembered?.identity {
            knowledge.rememberedIdentity = known
            return withVersion(known)
        }
        return identity(id: id, serialNumber: try serialNumber(&card))
    }

    /// Keeps the identifier alone, by which the rest of the identity is recalled or read.
    public mutating func identify(as identity: TokenIdentity) {
        knowledge.identity = knowledge.identity ?? identity.id
    }

    /// The identity, if it has been read.
    var knownIdentity: TokenIdentity? {
        if let remembered = knowledge.rememberedIdentity { return withVersion(remembered) }
        guard let id = knowledge.identity, case .known(let serialNumber) = knowledge.serialNumber else { return nil }
        return identity(id: id, serialNumber: serialNumber)
    }

    private func identity(id: TokenID, serialNumber: UInt32?) -> TokenIdentity {
        TokenIdentity(
            id: id, isShared: PIVToken.isBlank(id),
            label: label(of: id, serialNumber: serialNumber), manufacturer: quirks.manufacturer,
            model: quirks.model ?? application.label ?? PIVToken.plainModel,
            serialNumber: serialNumber.map { String($0) },
            version: knownFirmware?.description)
    }

    /// The remembered identity with the version, which may have been read later.
    private func withVersion(_ known: TokenIdentity) -> TokenIdentity {
        guard known.version == nil, let firmware = knownFirmware else { return known }
        return TokenIdentity(
            id: known.id, isShared: known.isShared, label: known.label, manufacturer: known.manufacturer,
            model: known.model,
            serialNumber: known.serialNumber, version: firmware.description)
    }

    /// The card's identifier: GUID, else the cardholder's UUID, else serial number, else a certificate's hash.
    mutating func tokenID(_ card: inout CardTransaction) throws(TokenError) -> TokenID {
        if let known = knowledge.identity { return known }
        let id = TokenID(driver: PIVToken.driverName, instance: try instance(&card))
        knowledge.identity = id
        return id
    }

    private mutating func instance(_ card: inout CardTransaction) throws(TokenError) -> String {
        let chuid = try readable { (token) throws(TokenError) in try token.chuid(&card) } ?? nil
        if let uuid = chuid?.guid ?? chuid?.cardholderUUID { return UUIDText.encode(uuid) }
        if let number = try serialNumber(&card) { return "serial-\(number)" }
        for slot in [PIVSlot.authentication, .cardAuthentication] {
            if let certificate = try object(in: slot, &card).object?.certificate,
                let digest = try? Digest.hash(certificate, using: .sha256)
            {
                return PIVToken.certificatePrefix + Hex.encode(digest.prefix(20))
            }
        }
        // Blank cards cannot be told apart.
        return PIVToken.blankPrefix + Hex.encode(atr.bytes)
    }

    private static let blankPrefix = "blank-"

    /// Whether an identifier is that of all blank cards of a kind.
    static func isBlank(_ id: TokenID) -> Bool { id.instance.hasPrefix(blankPrefix) }

    private static let certificatePrefix = "certificate-"

    /// The model of a card that does not tell its make.
    static let plainModel = "PIV card"

    private func label(of id: TokenID, serialNumber: UInt32?) -> String {
        let name = quirks.model ?? PIVToken.plainModel
        let digest =
            id.instance.hasPrefix(PIVToken.certificatePrefix)
            ? id.instance.dropFirst(PIVToken.certificatePrefix.count).prefix(8) : nil
        let distinction = serialNumber.map { String($0) } ?? String(digest ?? id.instance.prefix { $0 != "-" })
        return "\(name) \(distinction)"
    }

    /// Runs `body`. A wrong answer or a refusal counts as an absent object; an error of the connection is thrown.
    mutating func readable<Value>(
        _ body: (inout PIVToken) throws(TokenError) -> Value
    ) throws(TokenError) -> Value? {
        do { return try body(&self) } catch  where !error.preventsAnswers { return nil }
    }
}

extension TokenError {
    /// Whether the error is one of the connection, after which every later command fails too.
    var preventsAnswers: Bool {
        switch code {
        case .card(.malformed), .card(.responseTooLarge): false
        case .card: true
        default: false
        }
    }
}
