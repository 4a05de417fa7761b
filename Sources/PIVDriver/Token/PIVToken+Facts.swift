public import TokenKit

// What the card tells of itself beyond its identity, for people to read.
extension PIVToken {
    /// What can be read without a PIN, in reading order. What the card refuses or garbles is left out.
    public mutating func facts(_ card: inout CardTransaction) throws(TokenError) -> [TokenFact] {
        var facts: [TokenFact] = []
        if let label = application.label { facts.append(TokenFact("Application label", label)) }
        facts += try versionFacts(&card)
        facts += try identifierFacts(&card)
        facts += try discoveryFacts(&card)
        facts += try historyFacts(&card)
        facts += try printedFacts(&card)
        facts += try triesFacts("PIN", .pin, &card)
        facts += try triesFacts("PUK", .unblockingKey, &card)
        return facts
    }

    private mutating func versionFacts(_ card: inout CardTransaction) throws(TokenError) -> [TokenFact] {
        var facts: [TokenFact] = []
        if let firmware = try readable({ (token) throws(TokenError) in try token.firmware(&card) }) ?? nil {
            facts.append(TokenFact("Firmware", firmware.description))
            if quirks.manufacturer == "Yubico" {
                facts += Advisory.all(for: firmware).map { TokenFact("Warning", "\($0.name): \($0.advice)") }
            }
        }
        if let number = try readable({ (token) throws(TokenError) in try token.serialNumber(&card) }) ?? nil {
            facts.append(TokenFact("Serial number", String(number)))
        }
        return facts
    }

    private mutating func identifierFacts(_ card: inout CardTransaction) throws(TokenError) -> [TokenFact] {
        var facts: [TokenFact] = []
        if let chuid = try readable({ (token) throws(TokenError) in try token.chuid(&card) }) ?? nil {
            if let guid = chuid.guid { facts.append(TokenFact("GUID", UUIDText.encode(guid))) }
            if let bytes = chuid.fascn {
                let number = try? FASCN(parsing: bytes)
                facts.append(TokenFact("FASC-N", number?.description ?? Hex.encode(bytes)))
            }
            if let uuid = chuid.cardholderUUID { facts.append(TokenFact("Cardholder UUID", UUIDText.encode(uuid))) }
            if let expiry = chuid.expiry { facts.append(TokenFact("Expires", PIVToken.date(expiry))) }
        }
        if let capability = try parsed(.cardCapability, &card, CardCapability.init(parsing:)) {
            facts.append(TokenFact("Card capability identifier", Hex.encode(capability.identifier)))
        }
        return facts
    }

    private mutating func discoveryFacts(_ card: inout CardTransaction) throws(TokenError) -> [TokenFact] {
        guard let discovery = try parsed(.discovery, &card, DiscoveryObject.init(parsing:)) else { return [] }
        let names: [(DiscoveryObject.Policy, String)] = [
            (.applicationPIN, "PIV PIN"), (.globalPIN, "global PIN"), (.biometric, "fingerprint on the card"),
        ]
        let satisfying = names.filter { discovery.policy.contains($0.0) }.map(\.1).joined(separator: ", ")
        let primary = discovery.prefersGlobalPIN ? "global PIN" : "PIV PIN"
        return [TokenFact("PIN policy", "\(satisfying); primary \(primary)")]
    }

    private mutating func historyFacts(_ card: inout CardTransaction) throws(TokenError) -> [TokenFact] {
        guard let history = try readable({ (token) throws(TokenError) in try token.keyHistory(&card) }) ?? nil else {
            return []
        }
        let fact = TokenFact("Retired keys", "\(history.onCard) on the card, \(history.offCard) elsewhere")
        return [fact] + (history.url.map { [TokenFact("Retired keys elsewhere", $0)] } ?? [])
    }

    private mutating func printedFacts(_ card: inout CardTransaction) throws(TokenError) -> [TokenFact] {
        guard let printed = try parsed(.printedInformation, &card, PrintedInformation.init(parsing:)) else { return [] }
        let lines: [(String, String?)] = [
            ("Name", printed.name), ("Affiliation", printed.affiliation), ("Printed expiry", printed.expiry),
            ("Printed serial number", printed.serialNumber), ("Issuer", printed.issuer),
        ]
        return lines.compactMap { name, value in value.map { TokenFact(name, $0) } }
            + printed.organizationLines.map { TokenFact("Organization", $0) }
    }

    private mutating func triesFacts(
        _ name: String, _ kind: PINKind, _ card: inout CardTransaction
    ) throws(TokenError) -> [TokenFact] {
        guard let status = try readable({ (token) throws(TokenError) in try token.status(of: kind, &card) }),
            let left = status.triesLeft
        else { return [] }
        let total = status.maximumTries.map { " of \($0)" } ?? ""
        let isDefault = status.isDefault == true ? ", still the factory's (change it)" : ""
        return [TokenFact("\(name) tries left", "\(left)\(total)\(isDefault)")]
    }

    private mutating func parsed<Value>(
        _ container: PIVContainer, _ card: inout CardTransaction, _ parse: ([UInt8]) throws(TokenError) -> Value
    ) throws(TokenError) -> Value? {
        try readable { (token) throws(TokenError) in
            try token.read(container, &card).map { (content) throws(TokenError) in try parse(content) }
        } ?? nil
    }

    /// `YYYYMMDD` with hyphens, as ISO 8601 has it.
    private static func date(_ text: String) -> String {
        guard text.utf8.count == 8, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return text }
        return "\(text.prefix(4))-\(text.dropFirst(4).prefix(2))-\(text.suffix(2))"
    }
}
