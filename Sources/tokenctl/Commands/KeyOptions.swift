internal import CryptokiNames
internal import HostAPI
internal import KeychainModel
internal import ArgumentParser
internal import Localization
internal import SecureBytes
internal import SystemCrypto

/// A key that a command uses.
enum NamedKey {
    case pair(KeyDescription)
    case symmetric(Item)
}

/// A key for a command that needs only the public half.
enum NamedPublicKey {
    case key(PublicKey)
    case symmetric(Item)
}

/// The keychains and cards in which a key is looked for.
struct KeyPlaceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Look for the key in this keychain alone, or on this card: a name, path, id, label or pkcs11: URI.",
            valueName: "keychain"), completion: Completions.keychains)
    var keychain: String?

    func session(_ cards: CardOptions) throws -> CommandKeychains {
        try CommandKeychains(cards, keychains: keychain.map { [$0] } ?? [])
    }
}

/// The private key that an argument names, or the symmetric one where the command takes it.
struct KeyOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            """
            The key: its slot on a card (9A), its label, the SHA-1 of its certificate as find-identity prints it, or its \
            pkcs11: URI.
            """,
            valueName: "key"), completion: Completions.keys)
    var key: String

    @OptionGroup var place: KeyPlaceOptions

    /// The noun for a key in an error, and the command that lists such keys.
    private struct Wanted {
        let noun: LocalizedText
        let command: String

        static let privateKey = Wanted(noun: "private key", command: "find-key -t private")
        static let anyKey = Wanted(noun: "private or symmetric key", command: "find-key")
        static let publicKey = Wanted(noun: "key", command: "find-key")
    }

    /// The use of the key.
    enum Use {
        case any
        /// A signature, for which the key may be taken from what is remembered of its card.
        case signing
        /// The public half alone.
        case publicHalf
    }

    /// The only private key that the argument names.
    func resolve(in session: CommandKeychains) throws -> KeyDescription {
        try resolve(in: session, .privateKey, for: .any)
    }

    private func resolve(in session: CommandKeychains, _ wanted: Wanted, for use: Use) throws -> KeyDescription {
        let isPublic = use == .publicHalf
        if let uri = try PKCS11URI(argument: key) {
            return try session.key(namedBy: uri, as: wanted.noun, isPublic: isPublic)
        }
        var selector = try selector(in: session, for: use)
        var found = try session.keys(selector)
        // A search by label reads every card as a whole.
        if [.name(key), .signer(key)].contains(selector), found.found.isEmpty {
            selector = .label(key)
            let gaps = found.missing
            found = try session.keys(selector)
            found.missing += gaps.filter { !found.missing.contains($0) }
        }
        // The key may be on a card that could not be read. The answer that it is absent, or another key, would be wrong.
        if found.found.isEmpty, let gap = found.missing.first(where: { $0.place == .card }) {
            throw gap.error
        }
        let absent =
            found.found.isEmpty ? try absentKey(selector, isPublic: isPublic, in: session, found.missing) : nil
        if found.found.isEmpty, absent == nil, let damage = found.damage { throw damage }
        // If readers failed, the card may be inserted already: their error goes before the request to insert it.
        let isOnCard = absent == nil ? found.found.isEmpty && CardDrivers.isKeyName(key) : !isPublic
        if isOnCard, let gap = found.missing.first(where: { $0.place == .allCards }) { throw gap.error }
        let keys = session.reporting(found)
        if keys.isEmpty, let absent, !isPublic { throw session.absence(of: absent) }
        guard let key = keys.first ?? absent else {
            return try session.gaps.doubting { throw notFound(wanted, in: session) }
        }
        guard keys.isEmpty || (isPublic ? keys.haveOnePublicHalf : keys.areOne) else {
            let places = keys.map { String(localized: "\($0.name) in '\($0.keychainName)'") }.joined(separator: ", ")
            throw CommandError(
                "'\(self.key)' names more than one key", "\(places)",
                advice:
                    "choose with --keychain or --reader, or give the key's URI: 'tokenctl find-key --uri' lists them")
        }
        return key
    }

    private func notFound(_ wanted: Wanted, in session: CommandKeychains) -> KeychainError {
        guard CardDrivers.isKeyName(key), place.keychain == nil else {
            return KeychainError(
                .itemNotFound,
                place.keychain.map { "there is no \(wanted.noun) '\(key)' in '\($0)'" }
                    ?? "there is no \(wanted.noun) '\(key)'",
                remedy: "'tokenctl \(wanted.command)' lists the keys there are")
        }
        let cards = (try? session.foundCards().found.map(\.name)) ?? []
        let places = LocalizedText.list(cards.map { "'\($0)'" })
        return cards.isEmpty
            ? KeychainError(
                .itemNotFound, "there is no key in slot \(key): no card that can be used is inserted",
                remedy: "insert the card")
            : KeychainError(
                .itemNotFound, "slot \(key) of \(places) has no key",
                remedy: "'tokenctl card info' shows the slots that have one")
    }

    /// The only key that the argument names. A private key, even on a card that is not inserted, goes before a symmetric one.
    func resolveAny(in session: CommandKeychains, for use: Use = .any) throws -> NamedKey {
        do {
            return .pair(try resolve(in: session, .anyKey, for: use))
        } catch let error as KeychainError where error.code != .interactionRequired {
            guard let key = try symmetricKey(in: session) else { throw doubting(error, .symmetric, in: session) }
            return .symmetric(key)
        }
    }

    /// Finds the key as ``resolve`` does, or else a public key without its private half.
    ///
    /// A keychain in a file is unlocked first where a person can be asked: only its seals show whether a key was replaced.
    ///
    /// - Parameter keys: asks for the password.
    func resolvePublic(in session: CommandKeychains, _ keys: KeyUse) throws -> NamedPublicKey {
        let item: Item
        do {
            item = try resolve(in: session, .publicKey, for: .publicHalf).item
        } catch let error as KeychainError {
            if let key = try symmetricKey(in: session) { return .symmetric(key) }
            guard let found = try publicKey(in: session) else {
                throw doubting(error, .public, .symmetric, in: session)
            }
            item = found
        }
        let der = item.der ?? []
        if !item.isOnToken { try vouch(for: der, of: item, in: session, keys) }
        return .key(try PublicKey(spki: der))
    }

    /// Checks the keychain's seal of a key.
    ///
    /// - Throws: `errSecDecode` for a key that was replaced, `errSecNotTrusted` for one without a seal.
    private func vouch(
        for der: [UInt8], of item: Item, in session: CommandKeychains, _ keys: KeyUse
    ) throws {
        switch try keys.vouching(for: item, with: der) {
        case .sealed: return
        case .unsealed:
            throw KeychainError(
                .notTrusted,
                "the key '\(key)' has no seal of '\(session.keychainName(of: item))': it was added while that was locked, or by another program",
                remedy: "delete it, unlock the keychain, and add it anew")
        case .unknown:
            Warnings.show(
                "warning: '\(session.keychainName(of: item))' is locked, so that it is not known whether somebody has replaced the key '\(key)' in its file; unlock it, or use --pin-source"
            )
        }
    }

    /// The error of a search without a result: that of a damaged key which may be the one that is meant, else `error`.
    private func doubting(
        _ error: KeychainError, _ classes: KeyClass..., in session: CommandKeychains
    ) -> KeychainError {
        guard error.code == .itemNotFound else { return error }
        return classes.lazy.compactMap { try? items($0, in: session).damage }.first ?? error
    }

    private func symmetricKey(in session: CommandKeychains) throws -> Item? {
        // Symmetric keys on cards cannot be used.
        let files = session.withoutTokens()
        let found = try items(.symmetric, in: files).found
        guard let first = found.first else { return nil }
        guard found.count == 1 else { throw try ambiguity("symmetric key", found, in: files) }
        return first
    }

    /// The public key that the argument names, of another person and so without its private half.
    private func publicKey(in session: CommandKeychains) throws -> Item? {
        let found = try items(.public, in: session).found
        guard found.allSatisfy({ $0.der == found.first?.der }) else {
            throw try ambiguity("public key", found, in: session)
        }
        return found.first
    }

    /// The keys of a class that have the label, or that the URI names.
    private func items(_ keyClass: KeyClass, in session: CommandKeychains) throws -> Outcome<[Item]> {
        var attributes: Attributes = [.keyClass: keyClass.value, .synchronizable: Query.anySynchronizable]
        let uri = try PKCS11URI(argument: key)
        if uri == nil { attributes[.label] = .string(key) }
        var result = try session.items(matching: Query(.key, attributes, limit: .all))
        guard let uri, !result.found.isEmpty else { return result }
        let uris = try ObjectURIs(session)
        result.found.removeAll { !uris.matches(uri, $0) }
        return result
    }

    private func ambiguity(_ noun: LocalizedText, _ keys: [Item], in session: CommandKeychains) throws -> CommandError {
        let uris = try ObjectURIs(session)
        let name = try PKCS11URI(argument: key)?.description ?? key
        return CommandError(
            "'\(name)' names more than one \(noun)",
            "\(keys.compactMap { uris.uri(of: $0) }.map { "'\($0)'" }.joined(separator: ", "))",
            advice: "choose with --keychain, or give one of these URIs")
    }

    /// The only such key on cards that are not inserted. A slot's name, which every card has, means the inserted card where
    /// there is one. A warning tells that an absent card's public key is used.
    ///
    /// - Parameter missing: the gaps of the search for an inserted one.
    private func absentKey(
        _ selector: KeySelector, isPublic: Bool, in session: CommandKeychains, _ missing: [Missing]
    ) throws -> KeyDescription? {
        guard place.keychain == nil else { return nil }
        let isSlot = CardDrivers.isKeyName(key)
        if isSlot, try !session.foundCards().found.isEmpty { return nil }
        var keys = try session.absentKeys(.name(key))
        if keys.isEmpty { keys = try session.absentKeys(selector) }
        guard let key = keys.first else { return nil }
        guard keys.haveOnePublicHalf else {
            if let unread = missing.unreadCard { throw unread }
            let places = LocalizedText.list(keys.map { "'\($0.keychainName)'" })
            throw KeychainError(
                .interactionRequired, "the key \(self.key) is on \(places), and no such card is inserted",
                remedy: "insert the card that is meant, or give the key's URI")
        }
        if isPublic {
            Warnings.show("the public key of \(key.name) is that of '\(key.keychainName)', which is not inserted")
        }
        return key
    }

    private func selector(in session: CommandKeychains, for use: Use) throws -> KeySelector {
        guard let fingerprint = Hex.decode(key), fingerprint.count == DigestAlgorithm.sha1.byteCount else {
            return use == .signing ? .signer(key) : .name(key)
        }
        let certificates = try session.items(matching: Query(.certificate, limit: .all))
        let match = certificates.found.first { item in
            item.der.flatMap { try? Digest.hash($0, using: .sha1) } == fingerprint
        }
        guard let hash = match?.publicKeyHash else {
            if let gap = certificates.missing.first(where: { $0.place == .card }) { throw gap.error }
            _ = session.reporting(certificates)
            throw KeychainError(.itemNotFound, "there is no certificate with the SHA-1 \(key)")
        }
        return .publicKeyHash(hash)
    }
}

extension KeyOptions {
    /// The error of an option that means nothing to a kind of key.
    static func isUseless(_ option: String, _ kind: String) -> CommandError {
        CommandError("\(option) does not apply to keys of kind \(kind)", advice: "leave it out")
    }
}

extension [KeyDescription] {
    /// Whether any of the keys may be used: they have one public half, and one token, since each token has its own PIN.
    var areOne: Bool {
        let onTokens = filter { $0.slotName != nil }
        return haveOnePublicHalf && onTokens.allSatisfy { $0.isInSamePlace(as: onTokens[0]) }
    }

    var haveOnePublicHalf: Bool { allSatisfy { $0.publicKey == first?.publicKey } }
}
