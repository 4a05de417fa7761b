internal import CryptokiNames
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SystemCrypto

extension CommandKeychains {
    /// Throws for URIs that name objects where no object was found.
    func require(_ isFound: Bool, namedBy uris: [PKCS11URI], as noun: LocalizedText = "object") throws(KeychainError) {
        guard !isFound, let uri = uris.first(where: \.namesObject) else { return }
        let session = try limited(to: [uri])
        let names = try (session.foundFiles().found + session.foundTokens().found).map(\.name)
        let places = LocalizedText.list(names.map { "'\($0)'" })
        throw KeychainError(
            .itemNotFound, "no \(noun) on \(places) matches '\(uri.objectPart)'",
            remedy: "'tokenctl find-key --uri' and 'tokenctl find-certificate -a --uri' list what there is")
    }

    // MARK: Keys

    /// The only private key that a URI names. A certificate's URI names the certificate's key.
    ///
    /// - Parameters:
    ///   - noun: the noun for the key in an error.
    ///   - isPublic: whether only the public half is needed.
    func key(
        namedBy uri: PKCS11URI, as noun: LocalizedText = "private key", isPublic: Bool = false
    ) throws -> KeyDescription {
        let session = try limited(to: [uri])
        let found = try session.keyOfObject(uri) ?? keys(namedBy: uri, in: session)
        guard let first = found.first else {
            return try gaps.doubting {
                try require(false, namedBy: [uri], as: noun)
                throw KeychainError(.itemNotFound, "there is no \(noun) on what '\(uri)' names")
            }
        }
        let keys = found.map(\.key)
        guard isPublic ? keys.haveOnePublicHalf : keys.areOne else {
            let choices = choices(found).map { "'\($0)'" }.joined(separator: ", ")
            throw CommandError("'\(uri)' names more than one key", "\(choices)", advice: "choose one of them")
        }
        return first.key
    }

    private typealias NamedKey = (uri: PKCS11URI, key: KeyDescription)

    /// URIs that tell the keys apart, by the slots where tokens have the same name.
    private func choices(_ keys: [NamedKey]) -> [PKCS11URI] {
        var choices: [PKCS11URI] = []
        for (uri, key) in keys {
            var choice = uri
            let namesakes = keys.filter { $0.uri == uri }.compactMap(\.key.slotName)
            if let slot = key.slotName, namesakes.contains(where: { $0 != slot }) {
                choice.slot = PKCS11URI.Slot(slot)
                choice.slot.manufacturer = nil
            }
            if !choices.contains(choice) { choices.append(choice) }
        }
        return choices
    }

    /// The keys on cards that a URI names by id. Only these keys are read.
    ///
    /// - Returns: nil where more has to be read.
    private func keyOfObject(_ uri: PKCS11URI) throws -> [NamedKey]? {
        let cards = try foundTokens().found
        // On other tokens several keys may have one id.
        guard let id = uri.object.id, try foundFiles().found.isEmpty, cards.allSatisfy({ $0.kind == .card }) else {
            return nil
        }
        let found = try reporting(keys(.cryptokiID(id))).compactMap { key -> NamedKey? in
            // Another card may have the same identifier.
            let card = cards.first { $0.identifier == key.item.keychain && $0.cryptokiSlotName == key.slotName }
            let isMeant = try objects(of: key, id).contains(where: uri.matches)
            guard let card, isMeant else { return nil }
            let token = PKCS11URI.Place(card).token
            return (PKCS11URI(of: token, object: .init(id: id, kind: .privateKey)), key)
        }
        // A certificate without its key beside it may have one elsewhere.
        guard found.isEmpty, [nil, .certificate].contains(uri.object.kind) else { return found }
        let certificates = TokenItemSelection(.certificates, cryptokiID: id)
        let isThere = try cards.contains { card in
            try host.tokenItems(in: card.location, certificates, .silent).found.contains { item in
                let label = item.label.map { PKCS11URI.Text($0) }
                return item.itemClass == .certificate && item.tokenTraits?.cryptokiID == id
                    && uri.matches(PKCS11URI.Object(id: id, label: label, kind: .certificate))
            }
        }
        return isThere ? nil : []
    }

    /// The objects of the module for a key on a card, with the certificate of the same slot where it is the key's.
    private func objects(of key: KeyDescription, _ id: [UInt8]) throws -> [PKCS11URI.Object] {
        let certificate = Query(key.item.reference.retyped(as: .certificate), in: [key.item.keychain])
        let items = try [key.item, key.item] + host.items(matching: certificate, .silent).found
        return zip([.privateKey, .publicKey, .certificate], items).map { kind, item in
            PKCS11URI.Object(id: id, label: item.label.map { PKCS11URI.Text($0) }, kind: kind)
        }
    }

    /// The keys that a URI names by themselves or by their certificates. A certificate's key is looked for on the named tokens
    /// first, and then everywhere.
    private func keys(namedBy uri: PKCS11URI, in session: CommandKeychains) throws -> [NamedKey] {
        let names = try ObjectURIs(session)
        let everything = [uri.object.kind == .certificate ? nil : ItemClass.key, .certificate].compactMap { $0 }
        var found: [NamedKey] = []
        for itemClass in everything where found.isEmpty {
            let items = try session.items(
                matching: Query(itemClass, [.synchronizable: Query.anySynchronizable], limit: .all))
            // Most failures for keys repeat for certificates; they are told once.
            let reported = itemClass == everything.first ? session.reporting(items) : items.found
            for item in reported where names.matches(uri, item) {
                // The private half of a pair stands for the public one.
                let isMeant = itemClass == .certificate || item.isPrivateKey || uri.object.kind == .publicKey
                guard isMeant, let name = names.uri(of: item) else { continue }
                let own = try session.keys(selector(for: item)).found
                found += try (own.isEmpty ? keys(selector(for: item)).found : own).map { (name, $0) }
            }
        }
        return found
    }

    private func selector(for item: Item) -> KeySelector {
        guard item.itemClass == .key, !item.isPrivateKey, let hash = item.publicKeyHash else {
            return .reference(item.reference)
        }
        return .publicKeyHash(hash)
    }

    // MARK: Certificates

    /// The certificates that a URI names, or whose keys it names.
    func certificates(namedBy uri: PKCS11URI) throws -> [Certificate] {
        let session = try limited(to: [uri])
        let items = session.reporting(
            try session.items(
                matching: Query(.certificate, [.synchronizable: Query.anySynchronizable], limit: .all)))
        let named = try ObjectURIs(session).items(items, namedBy: [uri.forCertificates])
        try gaps.doubting { try require(!named.isEmpty, namedBy: [uri], as: "certificate") }
        return named.compactMap(\.certificate)
    }
}
