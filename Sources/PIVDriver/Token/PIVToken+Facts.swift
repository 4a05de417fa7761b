internal import Localization
internal import SecureBytes
public import TokenKit

// The card's facts beyond its identity, for people.
extension PIVToken {
    /// The facts that can be read without a PIN, in reading order. Facts that the card refuses or garbles are left out.
    public mutating func facts(_ card: inout CardTransaction) throws(TokenError) -> [TokenFact] {
        var facts: [TokenFact] = []
        if let label = application.label { facts.append(TokenFact("Application label", label)) }
        facts += try versionFacts(&card)
        facts += try identifierFacts(&card)
        facts += try self.facts(in: .discovery, &card)
        facts += try historyFacts(&card)
        facts += try self.facts(in: .printedInformation, &card)
        return facts + (try triesFacts(&card))
    }

    private mutating func versionFacts(_ card: inout CardTransaction) throws(TokenError) -> [TokenFact] {
        var facts: [TokenFact] = []
        if let firmware = try readable({ (token) throws(TokenError) in try token.firmware(&card) }) ?? nil {
            facts.append(TokenFact("Firmware", firmware.description))
            if quirks.manufacturer == "Yubico" { facts += Advisory.facts(for: firmware) }
        }
        if let number = try readable({ (token) throws(TokenError) in try token.serialNumber(&card) }) ?? nil {
            facts.append(TokenFact("Serial number", String(number)))
        }
        return facts
    }

    private mutating func identifierFacts(_ card: inout CardTransaction) throws(TokenError) -> [TokenFact] {
        let chuid = try readable { (token) throws(TokenError) in try token.chuid(&card) } ?? nil
        return (chuid?.facts ?? []) + (try facts(in: .cardCapability, &card))
    }

    private mutating func historyFacts(_ card: inout CardTransaction) throws(TokenError) -> [TokenFact] {
        let history = try readable { (token) throws(TokenError) in try token.keyHistory(&card) } ?? nil
        return history?.facts ?? []
    }

    private mutating func triesFacts(_ card: inout CardTransaction) throws(TokenError) -> [TokenFact] {
        let pin = try readable { (token) throws(TokenError) in try token.status(of: .pin, &card) }
        let unblockingKey = try readable { (token) throws(TokenError) in try token.status(of: .unblockingKey, &card) }
        let reset = PINKind.adviceToReset
        let remedy: LocalizedText =
            unblockingKey?.isBlocked == true ? "and so is the PUK; \(reset)" : "unblock it with the PUK"
        return PIVToken.triesFact("PIN tries left", pin, remedy)
            + PIVToken.triesFact("PUK tries left", unblockingKey, reset)
    }

    /// - Parameter remedy: the advice for a blocked PIN or PUK.
    private static func triesFact(
        _ name: LocalizedKey, _ status: PINStatus?, _ remedy: LocalizedText
    ) -> [TokenFact] {
        guard let status, let left = status.triesLeft else { return [] }
        let tries: LocalizedText = status.maximumTries.map { "\(left) of \($0)" } ?? "\(left)"
        let text: LocalizedText =
            switch (status.isBlocked, status.isDefault == true) {
            case (true, _): "\(tries), blocked (\(remedy))"
            case (false, true): "\(tries), still the factory's (change it)"
            case (false, false): tries
            }
        // Programs are told the status itself.
        return [TokenFact(name, String(localized: text), parts: [:])]
    }

    private mutating func facts(
        in container: PIVContainer, _ card: inout CardTransaction
    ) throws(TokenError) -> [TokenFact] {
        let facts = try readable { (token) throws(TokenError) in
            try token.read(container, &card).map { (content) throws(TokenError) in try container.facts(of: content) }
        }
        return (facts ?? nil) ?? []
    }
}
