internal import KeychainModel
package import SecureBytes
internal import SystemCrypto
package import Wire

extension HostRequest: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .keychains(let kinds): message.write(case: 1, kinds)
        case .items(let query): message.write(case: 2, query)
        case .identities(let query): message.write(case: 3, query)
        case .secret(let reference): message.write(case: 4, reference)
        case .change(let steps): message.write(case: 5, steps)
        case .perform(let operation): message.write(case: 6, operation)
        case .unlock(let keychain, let seconds): message.write(case: 7, keychain, seconds)
        case .lock(let keychain): message.write(case: 8, keychain)
        case .administer(let keychain, let administration): message.write(case: 9, keychain, administration)
        case .events(let topic, let position, let patience): message.write(case: 10, topic, position, patience)
        case .keychain(let identifier): message.write(case: 11, identifier)
        case .explain(let query, let readsSecrets): message.write(case: 12, query, readsSecrets)
        case .endAuthentication(let number): message.write(case: 13, number)
        case .path(let name): message.write(case: 14, name)
        case .openKeychain(let path): message.write(case: 15, path)
        case .createKeychain(let name, let password): message.write(case: 16, name, password)
        case .deleteKeychain(let name): message.write(case: 17, name)
        case .configure(let keychain, let settings): message.write(case: 18, keychain, settings)
        case .keychainChoice(let domain): message.write(case: 19, domain)
        case .choose(let change, let domain): message.write(case: 20, change, domain)
        case .presenceProof(let keychain): message.write(case: 21, keychain)
        case .confirmPresence(let keychain): message.write(case: 22, keychain)
        case .isSupported(let algorithm, let operation, let key): message.write(case: 23, algorithm, operation, key)
        case .usableCredentials: message.write(case: 24)
        case .endEvents(let position): message.write(case: 25, position)
        case .trustedRoots: message.write(case: 26)
        case .judge(let request): message.write(case: 27, request)
        case .importFile(let request): message.write(case: 28, request)
        case .exportFile(let request): message.write(case: 29, request)
        case .changePassword(let keychain, let old, let new, let renewsKey):
            message.write(case: 30, keychain, old, new, renewsKey)
        case .bind(let keychain, let card, let key): message.write(case: 31, keychain, card, key)
        case .unbind(let keychain, let card): message.write(case: 32, keychain, card)
        case .backUp(let keychain, let path): message.write(case: 33, keychain, path)
        case .restoreKeychain(let backup, let name, let password): message.write(case: 34, backup, name, password)
        case .places: message.write(case: 35)
        case .awaitPlaces(let known): message.write(case: 36, known)
        case .token(let place, let facts): message.write(case: 37, place, facts)
        case .tokenItems(let place, let selection): message.write(case: 38, place, selection)
        case .logIn(let place, let isForOneUse): message.write(case: 39, place, isForOneUse)
        case .logOut(let place): message.write(case: 40, place)
        case .changePIN(let place, let old, let new): message.write(case: 41, place, old, new)
        case .keys(let query): message.write(case: 42, query)
        case .askAhead(let action): message.write(case: 43, action)
        case .vouching(let item, let der): message.write(case: 44, item, der)
        case .drivers: message.write(case: 45)
        case .cardSettings(let parts, let domain): message.write(case: 46, parts, domain)
        case .configureCards(let change, let domain): message.write(case: 47, change, domain)
        case .card(let identifier, let parts): message.write(case: 48, identifier, parts)
        case .dataObject(let name, let card): message.write(case: 49, name, card)
        case .modules: message.write(case: 50)
        case .damage(let query): message.write(case: 51, query)
        case .storedSecret(let item): message.write(case: 52, item)
        case .hostStatus: message.write(case: 53)
        case .journal(let position, let patience): message.write(case: 54, position, patience)
        case .search(let request): message.write(case: 55, request)
        case .accessDecisions(let keychains): message.write(case: 56, keychains)
        case .changeAccess(let change): message.write(case: 57, change)
        case .access(let item): message.write(case: 58, item)
        case .administerCard(let card, let change, let authority):
            message.write(case: 59, card, change, authority)
        case .managementKey(let card): message.write(case: 60, card)
        case .eraseCard(let card): message.write(case: 61, card)
        case .attestation(let slot, let card): message.write(case: 62, slot, card)
        case .verifyAttestation(let statement, let roots): message.write(case: 63, statement, roots)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.keychains)
        case 2: self = try message.read(Self.items)
        case 3: self = try message.read(Self.identities)
        case 4: self = try message.read(Self.secret)
        case 5: self = try message.read(Self.change)
        case 6: self = try message.read(Self.perform)
        case 7: self = try message.read(Self.unlock)
        case 8: self = try message.read(Self.lock)
        case 9: self = try message.read(Self.administer)
        case 10: self = try message.read(Self.events)
        case 11: self = try message.read(Self.keychain)
        case 12: self = try message.read(Self.explain)
        case 13: self = try message.read(Self.endAuthentication)
        case 14: self = try message.read(Self.path)
        case 15: self = try message.read(Self.openKeychain)
        case 16: self = try message.read(Self.createKeychain)
        case 17: self = try message.read(Self.deleteKeychain)
        case 18: self = try message.read(Self.configure)
        case 19: self = try message.read(Self.keychainChoice)
        case 20: self = try message.read(Self.choose)
        case 21: self = try message.read(Self.presenceProof)
        case 22: self = try message.read(Self.confirmPresence)
        case 23: self = try message.read(Self.isSupported)
        case 24: self = .usableCredentials
        case 25: self = try message.read(Self.endEvents)
        case 26: self = .trustedRoots
        case 27: self = try message.read(Self.judge)
        case 28: self = try message.read(Self.importFile)
        case 29: self = try message.read(Self.exportFile)
        case 30: self = try message.read(Self.changePassword)
        case 31: self = try message.read(Self.bind)
        case 32: self = try message.read(Self.unbind)
        case 33: self = try message.read(Self.backUp)
        case 34: self = try message.read(Self.restoreKeychain)
        case 35: self = .places
        case 36: self = try message.read(Self.awaitPlaces)
        case 37: self = try message.read(Self.token)
        case 38: self = try message.read(Self.tokenItems)
        case 39: self = try message.read(Self.logIn)
        case 40: self = try message.read(Self.logOut)
        case 41: self = try message.read(Self.changePIN)
        case 42: self = try message.read(Self.keys)
        case 43: self = try message.read(Self.askAhead)
        case 44: self = try message.read(Self.vouching)
        case 45: self = .drivers
        case 46: self = try message.read(Self.cardSettings)
        case 47: self = try message.read(Self.configureCards)
        case 48: self = try message.read(Self.card)
        case 49: self = try message.read(Self.dataObject)
        case 50: self = .modules
        case 51: self = try message.read(Self.damage)
        case 52: self = try message.read(Self.storedSecret)
        case 53: self = .hostStatus
        case 54: self = try message.read(Self.journal)
        case 55: self = try message.read(Self.search)
        case 56: self = try message.read(Self.accessDecisions)
        case 57: self = try message.read(Self.changeAccess)
        case 58: self = try message.read(Self.access)
        case 59: self = try message.read(Self.administerCard)
        case 60: self = try message.read(Self.managementKey)
        case 61: self = try message.read(Self.eraseCard)
        case 62: self = try message.read(Self.attestation)
        case 63: self = try message.read(Self.verifyAttestation)
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
        message.write(self, context)
        return message
    }
}
