internal import HostAPI
internal import CryptokiNames
internal import KeychainModel
internal import KeychainHost
internal import PKCS11Driver
internal import SystemCrypto
internal import TokenKit

extension CommandKeychains {
    /// The session with only those cards and files that one of the URIs names or that have one of the names.
    ///
    /// A URI with a maker and a serial number names one token: if that is found here, no module is started.
    ///
    /// - Throws: `errSecItemNotFound` for a URI that names none of them, `errSecInteractionRequired` for a known card that is
    ///   not inserted.
    func limited(to uris: [PKCS11URI], orCards names: Set<String> = []) throws(KeychainError) -> CommandKeychains {
        var session = self
        var unmatched = Set(uris)
        func isMatch(_ place: PKCS11URI.Place) -> Bool {
            let matching = uris.filter { $0.matches(place) }
            unmatched.subtract(matching)
            return !matching.isEmpty
        }
        func limit(_ all: Outcome<[NamedToken]>) {
            session.missing += all.missing
            for (token, identity) in all.found {
                let isMeant = isMatch(PKCS11URI.Place(identity, in: token.slot))
                if isMeant || names.contains(where: identity.isNamed) { session.tokens.append(token) }
            }
        }
        session.locals = self.locals.filter { isMatch(PKCS11URI.Place($0)) }
        (session.tokens, session.modules) = ([], [])
        limit(identified(self.tokens) { ($0, $1) })
        let isAnswered = names.isEmpty && unmatched.isEmpty && uris.allSatisfy(\.namesOneToken)
        if !isAnswered {
            let others = tokensOfModules()
            session.missing += others.missing
            limit(identified(others.found) { ($0, $1) })
        }
        guard let uri = uris.first(where: unmatched.contains) else { return session }
        // Without the card service no card can be told to be absent.
        if uri.mayNameCard, let gap = session.missing.first(where: { $0.place == .allCards }) { throw gap.error }
        // The token that is missing may be one that cannot be read.
        gaps.tell(session.missing)
        // Without readers it is unknown whether the card is inserted.
        let known = self.tokens.isEmpty ? [] : self.process.knownTokens()
        let absent = known.first { uri.matches(PKCS11URI.Place($0.identity, in: nil)) }
        if let absent, let unread = session.missing.unreadCard {
            throw KeychainError(
                unread.code, "'\(absent.identity.label)' is in no reader, unless it is the card that could not be read",
                remedy: unread.remedy)
        }
        if let absent {
            throw KeychainError(
                .interactionRequired, "'\(absent.identity.label)' is in no reader",
                remedy: "insert card \(absent.identity.serialNumber ?? absent.identity.id.instance)")
        }
        throw KeychainError(
            .itemNotFound, "no token matches '\(uri.tokenPart)'",
            remedy: "'tokenctl list-keychains --uri' lists those there are")
    }

    private typealias NamedToken = (token: TokenKeychain, identity: TokenIdentity)

    /// Throws for URIs that name objects where no object was found.
    func require(_ isFound: Bool, namedBy uris: [PKCS11URI], as noun: String = "object") throws(KeychainError) {
        guard !isFound, let uri = uris.first(where: \.namesObject) else { return }
        let session = try limited(to: [uri])
        let names = session.locals.map(\.name) + session.eachToken { $1.label }.found
        let places = names.map { "'\($0)'" }.joined(separator: " and ")
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
        namedBy uri: PKCS11URI, as noun: String = "private key", isPublic: Bool = false
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
            throw CommandError("'\(uri)' names more than one key", choices, advice: "choose one of them")
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
        guard let id = uri.object.id, self.locals.isEmpty else { return nil }
        var found: [NamedKey] = []
        for token in self.tokens {
            guard let identity = try token.identity() else { continue }
            guard let selection = try token.selection(ofCryptokiID: id) else { continue }
            // On other tokens several keys may have one id.
            guard case .object(let name) = selection else { return nil }
            guard let object = try token.objects(selection).first else { continue }
            let kinds = object.kinds.filter { kind in
                uri.matches(PKCS11URI.Object(id: id, label: .init(object.label), kind: kind))
            }
            guard !kinds.isEmpty else { continue }
            // The key of a certificate may be elsewhere.
            guard kinds != [.certificate] || object.isOfOneKey else { return nil }
            let named = PKCS11URI(of: PKCS11URI.Token(identity), object: .init(id: id, kind: .privateKey))
            let keys = KeyQuery(.name(name.rawValue), in: .keychains([KeychainIdentifier(identity.id)]))
            // Another card may have the same identifier.
            let slot = token.slot.cryptokiName
            found += try host.keys(matching: keys, .silent).found.filter { $0.slotName == slot }.map { (named, $0) }
        }
        return found
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

extension TokenKeychain {
    /// The selected objects of the token. No others are read.
    func objects(_ selection: TokenSelection) throws(KeychainError) -> [TokenObject] {
        do throws(TokenError) {
            return try slot.inventory(selection).inventory.objects
        } catch {
            guard error.code == .notFound else { throw KeychainError(error) }
            return []
        }
    }
}

extension TokenObject {
    /// The kinds of PKCS #11 objects that the module shows for this one.
    fileprivate var kinds: [PKCS11URI.Kind] {
        (certificate == nil ? [] : [.certificate]) + (key == nil ? [] : [.publicKey, .privateKey])
    }

    /// Whether the certificate has the public key of the key beside it.
    fileprivate var isOfOneKey: Bool {
        guard let key, let certificate = certificate.flatMap({ try? Certificate(der: $0) }) else { return false }
        return certificate.spki == key.publicKey
    }
}
