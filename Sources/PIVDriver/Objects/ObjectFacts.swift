internal import Localization
internal import SecureBytes
internal import SystemCrypto
public import TokenKit

// The facts of data objects, line by line, for people.

extension PIVContainer {
    /// The facts in an object's content, without its outer tag; none for objects that are not parsed here.
    ///
    /// - Throws: ``TokenError`` `.malformed` for content that does not have the container's form.
    public func facts(of content: [UInt8]) throws(TokenError) -> [TokenFact] {
        switch self {
        case .chuid: try CardholderIdentifier(parsing: content).facts
        case .cardCapability: try CardCapability(parsing: content).facts
        case .discovery: try DiscoveryObject(parsing: content).facts
        case .keyHistory: try KeyHistory(parsing: content).facts
        case .printedInformation: try PrintedInformation(parsing: content).facts
        case .securityObject: try SecurityObject(parsing: content).facts
        case _ where holdsCertificate: try certificateFacts(content)
        default: []
        }
    }

    /// Whether the object holds a certificate and nothing else of interest.
    public var holdsCertificate: Bool {
        self == .secureMessagingSigner || belongsToSlot
    }

    private func certificateFacts(_ content: [UInt8]) throws(TokenError) -> [TokenFact] {
        let renewal = RenewalMark(content: content).map { [$0.fact] } ?? []
        guard let object = try CertificateObject.parse(content) else { return renewal }
        do {
            let certificate = try Certificate(der: object.certificate)
            return renewal + [
                TokenFact("Subject", certificate.subject.description),
                TokenFact("Issuer", certificate.issuer.description),
                TokenFact("Serial number", Hex.encode(certificate.serialNumber)),
                TokenFact("Valid from", certificate.notBeforeText),
                TokenFact("Valid until", certificate.notAfterText),
                TokenFact("Key", certificate.publicKey?.kind.description ?? "unknown"),
                TokenFact("SHA-256", Hex.encode(try certificate.fingerprint(.sha256))),
            ]
        } catch {
            throw PIVFormat.malformed(title, "\(error)")
        }
    }
}

extension CardholderIdentifier {
    var facts: [TokenFact] {
        var facts: [TokenFact] = []
        if let guid { facts.append(TokenFact("GUID", UUIDText.encode(guid))) }
        if let fascn {
            let number = try? FASCN(parsing: fascn)
            facts.append(TokenFact("FASC-N", number?.description ?? Hex.encode(fascn)))
        }
        if let cardholderUUID { facts.append(TokenFact("Cardholder UUID", UUIDText.encode(cardholderUUID))) }
        if let expiry { facts.append(TokenFact("Expires", CardholderIdentifier.date(expiry))) }
        return facts
    }

    /// A date `YYYYMMDD` in the form of ISO 8601, with hyphens; any other text unchanged.
    private static func date(_ text: String) -> String {
        guard text.utf8.count == 8, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return text }
        return "\(text.prefix(4))-\(text.dropFirst(4).prefix(2))-\(text.suffix(2))"
    }
}

extension CardCapability {
    var facts: [TokenFact] { [TokenFact("Card capability identifier", Hex.encode(identifier))] }
}

extension DiscoveryObject {
    var facts: [TokenFact] {
        let own: LocalizedText = "PIV PIN"
        let global: LocalizedText = "global PIN"
        let biometric: LocalizedText = "fingerprint on the card"
        let names: [(policy: Policy, text: String, word: String)] = [
            (.applicationPIN, String(localized: own), "application"), (.globalPIN, String(localized: global), "global"),
            (.biometric, String(localized: biometric), "biometric"),
        ]
        let satisfying = names.filter { policy.contains($0.policy) }
        let primary = prefersGlobalPIN ? names[1] : names[0]
        let text: LocalizedText = "\(satisfying.map(\.text).joined(separator: ", ")); primary \(primary.text)"
        return [
            TokenFact(
                "PIN policy", String(localized: text),
                parts: ["pinPolicy": .list(satisfying.map(\.word)), "primaryPIN": .text(primary.word)])
        ]
    }
}

extension KeyHistory {
    var facts: [TokenFact] {
        let fact = TokenFact(
            "Retired keys", String(localized: "\(onCard) on the card, \(offCard) elsewhere"),
            parts: ["retiredKeysOnCard": .number(onCard), "retiredKeysElsewhere": .number(offCard)])
        let place = url.map { TokenFact("Retired keys elsewhere", $0, parts: ["retiredKeysURL": .text($0)]) }
        return [fact, place].compactMap(\.self)
    }
}

extension PrintedInformation {
    var facts: [TokenFact] {
        [
            name.map { TokenFact("Name", $0) }, affiliation.map { TokenFact("Affiliation", $0) },
            expiry.map { TokenFact("Printed expiry", $0) },
            serialNumber.map { TokenFact("Printed serial number", $0) }, issuer.map { TokenFact("Issuer", $0) },
        ].compactMap(\.self)
            + organizationLines.map { TokenFact("Organization", $0, parts: ["organization": .list([$0])]) }
    }
}

extension SecurityObject {
    var facts: [TokenFact] {
        let containers = entries.map { Hex.encode($0.containerID.bigEndianBytes) }
        return [
            TokenFact(
                "Signed containers", containers.joined(separator: " "), parts: ["signedContainers": .list(containers)]),
            TokenFact(
                "Signed data",
                String(localized: .plural(signedData.count, one: "1 byte", other: "\(signedData.count) bytes")),
                parts: ["signedDataLength": .number(signedData.count)]),
        ]
    }
}
