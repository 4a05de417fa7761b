internal import SystemCrypto
internal import KeychainModel
package import SecureBytes
package import Wire

extension HostRequest: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .keychains(let kinds):
            message.write(1 as UInt8)
            message.write(kinds)
        case .items(let query):
            message.write(2 as UInt8)
            message.write(query)
        case .identities(let query):
            message.write(3 as UInt8)
            message.write(query)
        case .secret(let reference):
            message.write(4 as UInt8)
            message.write(reference)
        case .change(let steps):
            message.write(5 as UInt8)
            message.write(steps)
        case .perform(let operation):
            message.write(6 as UInt8)
            message.write(operation)
        case .unlock(let keychain, let seconds):
            message.write(7 as UInt8)
            message.write(keychain)
            message.write(seconds) { $1.write(UInt64($0)) }
        case .lock(let keychain):
            message.write(8 as UInt8)
            message.write(keychain)
        case .administer(let keychain, let administration):
            message.write(9 as UInt8)
            message.write(keychain)
            message.write(administration)
        case .events(let topic, let position, let patience):
            message.write(10 as UInt8)
            message.write(topic)
            message.write(position)
            message.write(patience)
        case .keychain(let identifier):
            message.write(11 as UInt8)
            message.write(identifier)
        case .explain(let query, let readsSecrets):
            message.write(12 as UInt8)
            message.write(query)
            message.write(readsSecrets)
        case .endAuthentication(let number):
            message.write(13 as UInt8)
            message.write(number.rawValue)
        case .path(let name):
            message.write(14 as UInt8)
            message.write(name)
        case .openKeychain(let path):
            message.write(15 as UInt8)
            message.write(path) { $1.write($0) }
        case .createKeychain(let name, let password):
            message.write(16 as UInt8)
            message.write(name)
            message.write(password) { $1.write($0) }
        case .deleteKeychain(let name):
            message.write(17 as UInt8)
            message.write(name)
        case .configure(let keychain, let settings):
            message.write(18 as UInt8)
            message.write(keychain)
            message.write(settings)
        case .keychainChoice(let domain):
            message.write(19 as UInt8)
            message.write(domain)
        case .choose(let change, let domain):
            message.write(20 as UInt8)
            message.write(change)
            message.write(domain)
        case .presenceProof(let keychain):
            message.write(21 as UInt8)
            message.write(keychain)
        case .confirmPresence(let keychain):
            message.write(22 as UInt8)
            message.write(keychain)
        case .isSupported(let algorithm, let operation, let key):
            message.write(23 as UInt8)
            message.write(algorithm)
            message.write(operation)
            message.write(key)
        case .usableCredentials: message.write(24 as UInt8)
        case .endEvents(let position):
            message.write(25 as UInt8)
            message.write(position)
        case .trustedRoots: message.write(26 as UInt8)
        case .judge(let request):
            message.write(27 as UInt8)
            message.write(request)
        case .importFile(let request):
            message.write(28 as UInt8)
            message.write(request)
        case .exportFile(let request):
            message.write(29 as UInt8)
            message.write(request)
        case .changePassword(let keychain, let old, let new, let renewsKey):
            message.write(30 as UInt8)
            message.write(keychain)
            message.write(old) { $1.write($0) }
            message.write(new) { $1.write($0) }
            message.write(renewsKey)
        case .bind(let keychain, let card, let key):
            message.write(31 as UInt8)
            message.write(keychain)
            message.write(card)
            message.write(key) { $1.write($0) }
        case .unbind(let keychain, let card):
            message.write(32 as UInt8)
            message.write(keychain)
            message.write(card)
        case .backUp(let keychain, let path):
            message.write(33 as UInt8)
            message.write(keychain)
            message.write(path)
        case .restoreKeychain(let backup, let name, let password):
            message.write(34 as UInt8)
            message.write(backup)
            message.write(name)
            message.write(password) { $1.write($0) }
        case .places: message.write(35 as UInt8)
        case .awaitPlaces(let known):
            message.write(36 as UInt8)
            message.write(known)
        case .token(let place, let facts):
            message.write(37 as UInt8)
            message.write(place)
            message.write(facts)
        case .tokenItems(let place, let selection):
            message.write(38 as UInt8)
            message.write(place)
            message.write(selection)
        case .logIn(let place, let isForOneUse):
            message.write(39 as UInt8)
            message.write(place)
            message.write(isForOneUse)
        case .logOut(let place):
            message.write(40 as UInt8)
            message.write(place)
        case .changePIN(let place, let old, let new):
            message.write(41 as UInt8)
            message.write(place)
            message.write(old)
            message.write(new)
        case .keys(let query):
            message.write(42 as UInt8)
            message.write(query)
        case .askAhead(let action):
            message.write(43 as UInt8)
            message.write(action)
        case .vouching(let item, let der):
            message.write(44 as UInt8)
            message.write(item)
            message.write(der)
        case .drivers: message.write(45 as UInt8)
        case .cardSettings(let parts, let domain):
            message.write(46 as UInt8)
            message.write(parts)
            message.write(domain)
        case .configureCards(let change, let domain):
            message.write(47 as UInt8)
            message.write(change)
            message.write(domain)
        case .card(let identifier, let parts):
            message.write(48 as UInt8)
            message.write(identifier)
            message.write(parts)
        case .dataObject(let name, let card):
            message.write(49 as UInt8)
            message.write(name)
            message.write(card)
        case .modules: message.write(50 as UInt8)
        case .damage(let query):
            message.write(51 as UInt8)
            message.write(query)
        case .storedSecret(let item):
            message.write(52 as UInt8)
            message.write(item)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .keychains(try message.value())
        case 2: self = .items(try message.value())
        case 3: self = .identities(try message.value())
        case 4: self = .secret(try message.value())
        case 5: self = .change(try message.value())
        case 6: self = .perform(try message.value())
        case 7: self = .unlock(try message.value(), for: try message.optionalNumber32())
        case 8: self = .lock(try message.optional())
        case 9: self = .administer(try message.value(), try message.value())
        case 10: self = .events(of: try message.value(), after: try message.optional(), waiting: try message.value())
        case 11: self = .keychain(try message.value())
        case 12: self = .explain(try message.value(), readingSecrets: try message.flag())
        case 13: self = .endAuthentication(AuthenticationNumber(rawValue: try message.number()))
        case 14: self = .path(ofKeychain: try message.text())
        case 15: self = .openKeychain(at: try message.optionalText())
        case 16:
            self = .createKeychain(try message.text(), password: try message.optionalSecret())
        case 17: self = .deleteKeychain(try message.text())
        case 18: self = .configure(try message.value(), try message.value())
        case 19: self = .keychainChoice(in: try message.optional())
        case 20: self = .choose(try message.value(), in: try message.value())
        case 21: self = .presenceProof(try message.value())
        case 22: self = .confirmPresence(try message.value())
        case 23: self = .isSupported(try message.value(), for: try message.value(), by: try message.value())
        case 24: self = .usableCredentials
        case 25: self = .endEvents(at: try message.value())
        case 26: self = .trustedRoots
        case 27: self = .judge(try message.value())
        case 28: self = .importFile(try message.value())
        case 29: self = .exportFile(try message.value())
        case 30:
            self = .changePassword(
                of: try message.value(), from: try message.optionalSecret(), to: try message.optionalSecret(),
                renewingKey: try message.flag())
        case 31: self = .bind(try message.value(), to: try message.value(), key: try message.optionalText())
        case 32: self = .unbind(try message.value(), from: try message.optional())
        case 33: self = .backUp(try message.value(), to: try message.text())
        case 34:
            self = .restoreKeychain(
                from: try message.text(), as: try message.text(), password: try message.optionalSecret())
        case 35: self = .places
        case 36: self = .awaitPlaces(otherThan: try message.value())
        case 37: self = .token(in: try message.text(), telling: try message.value())
        case 38: self = .tokenItems(in: try message.text(), try message.value())
        case 39: self = .logIn(to: try message.text(), forOneUse: try message.flag())
        case 40: self = .logOut(of: try message.text())
        case 41: self = .changePIN(of: try message.text(), from: try message.secret(), to: try message.secret())
        case 42: self = .keys(try message.value())
        case 43: self = .askAhead(of: try message.value())
        case 44: self = .vouching(for: try message.value(), with: try message.bytes())
        case 45: self = .drivers
        case 46: self = .cardSettings(try message.value(), in: try message.optional())
        case 47: self = .configureCards(try message.value(), in: try message.value())
        case 48: self = .card(try message.value(), telling: try message.value())
        case 49: self = .dataObject(try message.text(), of: try message.value())
        case 50: self = .modules
        case 51: self = .damage(try message.value())
        case 52: self = .storedSecret(of: try message.value())
        default: throw .malformed
        }
    }
}

extension HostRequest {
    /// The request of a message, and its circumstances.
    ///
    /// - Throws: `WireError` for anything that ``message(_:)`` does not write.
    package static func parse(
        _ fields: [UInt8], lane: consuming Secret
    ) throws(WireError) -> (HostRequest, RequestContext) {
        var message = MessageReader(fields, lane: lane)
        let result = (try message.value(HostRequest.self), try message.value(RequestContext.self))
        try message.finish()
        return result
    }

    /// The message of the request.
    package func message(_ context: RequestContext) -> MessageWriter {
        var message = MessageWriter()
        message.write(self)
        message.write(context)
        return message
    }
}
