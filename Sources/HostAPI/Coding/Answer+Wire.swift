internal import KeychainModel
package import SecureBytes
internal import SystemCrypto
package import Wire

extension KeychainDescription.Kind: WireValue {}

extension KeychainDescription.Kinds: WireValue {
    func write(to message: inout MessageWriter) { message.write(rawValue) }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(rawValue: try message.byte())
        guard isSubset(of: [.all, .knownCards]) else { throw .malformed }
    }
}

extension KeychainDescription.Token: WireValue {
    func write(to message: inout MessageWriter) {
        for text in [manufacturer, model, serialNumber, version, module] { message.write(text) { $1.write($0) } }
        message.write(slotName)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            manufacturer: try message.optionalText(), model: try message.optionalText(),
            serialNumber: try message.optionalText(), version: try message.optionalText())
        module = try message.optionalText()
        slotName = try message.optional()
    }
}

extension KeychainDescription: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(identifier)
        message.write(kind)
        message.write(name)
        message.write(location)
        message.write(UInt64(status.rawValue))
        message.write(isDefault)
        message.write(token)
        message.write(damage)
    }

    init(from message: inout MessageReader) throws(WireError) {
        let identifier = try message.value(KeychainIdentifier.self)
        let kind = try message.value(Kind.self)
        let (name, location) = (try message.text(), try message.text())
        self.init(
            identifier, kind, name: name, location: location,
            status: KeychainStatus(rawValue: try message.number32()), isDefault: try message.flag(),
            token: try message.optional(), damage: try message.optional())
    }
}

extension KeychainDetails: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(keychain)
        message.write(triesLeft) { $1.write($0) }
        message.write(otherLocations) { $1.write($0) }
        message.write(settings)
        message.write(unlocking)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            try message.value(),
            triesLeft: try message.optional { (message) throws(WireError) in try message.count() },
            otherLocations: try message.texts(), settings: try message.optional(), unlocking: try message.optional())
    }
}

extension PresenceProof: WireValue {}

extension KeychainSettings: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(locksOnSleep)
        message.write(lockInterval) { $1.write(UInt64($0)) }
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            locksOnSleep: try message.flag(),
            lockInterval: try message.optionalNumber32())
    }
}

extension KeychainChoice: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(searchList) { $1.write($0) }
        message.write(defaultKeychain) { $1.write($0) }
        message.write(loginKeychain) { $1.write($0) }
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            searchList: try message.texts(), defaultKeychain: try message.optionalText(),
            loginKeychain: try message.optionalText())
    }
}

extension ChangeResult: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(added)
        message.write(identities)
        message.write(updatedCount)
        message.write(deletedCount)
    }

    init(from message: inout MessageReader) throws(WireError) {
        added = try message.value()
        identities = try message.value()
        updatedCount = try message.count()
        deletedCount = try message.count()
    }
}

extension EventPage: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(events)
        message.write(next)
        message.write(isIncomplete)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(try message.value(), next: try message.value(), isIncomplete: try message.flag())
    }
}

extension HostAnswer: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .done: message.write(1 as UInt8)
        case .failed(let error):
            message.write(2 as UInt8)
            message.write(error)
        case .keychains(let outcome):
            message.write(3 as UInt8)
            message.write(outcome)
        case .items(let outcome):
            message.write(4 as UInt8)
            message.write(outcome)
        case .identities(let outcome):
            message.write(5 as UInt8)
            message.write(outcome)
        case .secret(let secret):
            message.write(6 as UInt8)
            message.write(secret) { $1.write($0) }
        case .changed(let outcome):
            message.write(7 as UInt8)
            message.write(outcome)
        case .locked(let missing):
            message.write(8 as UInt8)
            message.write(missing)
        case .events(let page):
            message.write(9 as UInt8)
            message.write(page)
        case .keychain(let details):
            message.write(10 as UInt8)
            message.write(details)
        case .explanation(let explanation):
            message.write(11 as UInt8)
            message.write(explanation)
        case .path(let path):
            message.write(12 as UInt8)
            message.write(path)
        case .choice(let choice):
            message.write(13 as UInt8)
            message.write(choice)
        case .presenceProof(let proof):
            message.write(14 as UInt8)
            message.write(proof)
        case .supported(let isSupported):
            message.write(15 as UInt8)
            message.write(isSupported)
        case .credentials(let kinds):
            message.write(16 as UInt8)
            message.write(kinds)
        case .certificates(let certificates):
            message.write(17 as UInt8)
            message.write(certificates)
        case .verdict(let outcome):
            message.write(18 as UInt8)
            message.write(outcome)
        case .imported(let content):
            message.write(19 as UInt8)
            message.write(content)
        case .passwordChange(let change):
            message.write(20 as UInt8)
            message.write(change)
        case .boundCards(let cards):
            message.write(21 as UInt8)
            message.write(cards)
        case .backup(let count):
            message.write(22 as UInt8)
            message.write(count)
        case .places(let outcome):
            message.write(23 as UInt8)
            message.write(outcome)
        case .token(let description):
            message.write(24 as UInt8)
            message.write(description)
        case .keys(let outcome):
            message.write(25 as UInt8)
            message.write(outcome)
        case .vouching(let vouching):
            message.write(26 as UInt8)
            message.write(vouching)
        case .drivers(let drivers):
            message.write(27 as UInt8)
            message.write(drivers)
        case .cardSettings(let settings):
            message.write(28 as UInt8)
            message.write(settings)
        case .card(let overview):
            message.write(29 as UInt8)
            message.write(overview)
        case .dataObject(let content):
            message.write(30 as UInt8)
            message.write(content)
        case .modules(let modules):
            message.write(31 as UInt8)
            message.write(modules)
        case .damage(let missing):
            message.write(32 as UInt8)
            message.write(missing)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .done
        case 2: self = .failed(try message.value())
        case 3: self = .keychains(try message.value())
        case 4: self = .items(try message.value())
        case 5: self = .identities(try message.value())
        case 6: self = .secret(try message.optionalSecret())
        case 7: self = .changed(try message.value())
        case 8: self = .locked(missing: try message.value())
        case 9: self = .events(try message.value())
        case 10: self = .keychain(try message.value())
        case 11: self = .explanation(try message.value())
        case 12: self = .path(try message.text())
        case 13: self = .choice(try message.value())
        case 14: self = .presenceProof(try message.value())
        case 15: self = .supported(try message.flag())
        case 16: self = .credentials(try message.value())
        case 17: self = .certificates(try message.value())
        case 18: self = .verdict(try message.value())
        case 19: self = .imported(try message.value())
        case 20: self = .passwordChange(try message.value())
        case 21: self = .boundCards(try message.value())
        case 22: self = .backup(try message.value())
        case 23: self = .places(try message.value())
        case 24: self = .token(try message.value())
        case 25: self = .keys(try message.value())
        case 26: self = .vouching(try message.value())
        case 27: self = .drivers(try message.value())
        case 28: self = .cardSettings(try message.value())
        case 29: self = .card(try message.value())
        case 30: self = .dataObject(try message.value())
        case 31: self = .modules(try message.value())
        case 32: self = .damage(try message.value())
        default: throw .malformed
        }
    }
}

extension HostAnswer {
    /// The answer of a message.
    ///
    /// - Throws: `WireError` for anything that ``message()`` does not write.
    package init(parsing fields: [UInt8], lane: consuming Secret) throws(WireError) {
        self = try .read(fields, lane: lane)
    }

    /// The message of the answer.
    package func message() -> MessageWriter { wholeMessage }
}
