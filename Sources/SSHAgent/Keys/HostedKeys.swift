internal import CryptokiNames
internal import HostAPI
internal import KeychainModel
internal import Platform
internal import SecureBytes
internal import Synchronization
internal import SystemCrypto

/// A key of a card, a keychain, or a token of an added module.
struct HostedKey: Sendable, Equatable {
    /// The public half or, for one of the user's certificates, that.
    let blob: [UInt8]
    let comment: [UInt8]
    let kind: KeyKind
    let reference: PersistentReference
    let home: Home

    enum Home: Sendable, Equatable {
        /// A card or file, by its ``TokenPlace/location``.
        case place(String)
        case module(AddedModule)
    }

    /// The ``TokenPlace/location`` of its card or file; nil for a key of a module.
    var place: String? { if case .place(let location) = home { location } else { nil } }
    var module: AddedModule? { if case .module(let module) = home { module } else { nil } }

    init(blob: [UInt8], comment: [UInt8], kind: KeyKind, reference: PersistentReference, home: Home) {
        (self.blob, self.comment, self.kind, self.reference, self.home) = (blob, comment, kind, reference, home)
    }

    /// The key of an item; nil for one that SSH cannot use.
    ///
    /// - Parameter token: the label of the item's token.
    init?(_ item: Item, of token: String, in home: Home) {
        guard item.isPrivateKey, item[.canSign]?.isTrue == true, let der = item.der,
            let key = try? PublicKey(spki: der), let blob = try? key.openSSH()
        else { return nil }
        if case .rsa(let bits) = key.kind, bits < AddedKey.minimumRSABits { return nil }
        let comment = "\(item.label ?? item.reference.objectName ?? "key") (\(token))"
        self.init(
            blob: blob, comment: Array(DisplayText.line(comment).utf8), kind: key.kind, reference: item.reference,
            home: home)
    }
}

/// The keys of all cards and keychains that SSH can use.
///
/// The keys of a card are read once for as long as it stays in, and then again after ``patience``, since other tools may write to it.
final class HostedKeys: Sendable {
    private struct Card {
        let insertion: String
        let time: ContinuousClock.Instant
        let keys: [HostedKey]
    }

    private let makeHost: @Sendable () -> any InProcessHost
    private let insertion: @Sendable (_ reader: String) -> String?
    private let folder: String?
    private let cards = Mutex<[String: Card]>([:])

    private static let patience: Duration = .seconds(300)
    private static let maximumCertificates = 256
    private static let maximumCertificateLength = 64 << 10

    /// - Parameters:
    ///   - makeHost: makes a host that asks nobody.
    ///   - insertion: tells which card is in a reader, without a connection to it; nil for none, or where it is unknown.
    ///   - folder: the user's folder `.ssh`; nil for none.
    init(
        _ makeHost: @escaping @Sendable () -> any InProcessHost,
        insertion: @escaping @Sendable (_ reader: String) -> String?, certificatesIn folder: String?
    ) {
        (self.makeHost, self.insertion, self.folder) = (makeHost, insertion, folder)
    }

    /// The keys of all cards and keychains. Asks nobody. What cannot be read is left out.
    func all() -> [HostedKey] {
        let host = makeHost()
        defer { host.end() }
        let context = RequestContext(questions: .never)
        guard let places = try? host.places(context).found else { return [] }
        var (keys, known) = ([HostedKey](), Set<[UInt8]>())
        for place in places where place.occupancy.hasToken {
            for key in self.keys(in: place, host, context) where known.insert(key.blob).inserted { keys.append(key) }
        }
        return keys
    }

    /// The keys, each followed by the user's certificates of it.
    func certified(_ keys: [HostedKey]) -> [HostedKey] {
        let certificates = keys.isEmpty ? [] : certificates()
        guard !certificates.isEmpty else { return keys }
        return keys.flatMap { key in
            [key]
                + certificates.filter { $0.plain == key.blob }.map { certificate in
                    HostedKey(
                        blob: certificate.blob, comment: certificate.comment, kind: key.kind, reference: key.reference,
                        home: key.home)
                }
        }
    }

    /// Has all cards read again at the next request.
    func forget() { cards.withLock { $0 = [:] } }

    private func keys(
        in place: TokenPlace, _ host: any InProcessHost, _ context: RequestContext
    ) -> [HostedKey] {
        let insertion = place.kind == .file ? nil : insertion(place.location)
        if let insertion, let card = cards.withLock({ $0[place.location] }), card.insertion == insertion,
            card.time.duration(to: .now) < HostedKeys.patience
        {
            return card.keys
        }
        guard let items = try? host.tokenItems(in: place.location, TokenItemSelection([.privateKeys]), context).found,
            let token = try? host.token(in: place.location, telling: .name, context).name
        else { return [] }
        let keys = items.compactMap { HostedKey($0, of: token.label, in: .place(place.location)) }
        if let insertion {
            cards.withLock { $0[place.location] = Card(insertion: insertion, time: .now, keys: keys) }
        }
        return keys
    }

    // MARK: Certificates

    private struct UserCertificate {
        let blob: [UInt8]
        let plain: [UInt8]
        let comment: [UInt8]
    }

    /// The certificates in the user's files `*-cert.pub`, each a line as ssh-keygen(1) writes it.
    private func certificates() -> [UserCertificate] {
        guard let folder else { return [] }
        let names = OwnFile.names(in: folder, limit: 4096).filter { $0.hasSuffix("-cert.pub") }.sorted()
        return names.prefix(HostedKeys.maximumCertificates).compactMap { name in
            guard let text = OwnFile.read("\(folder)/\(name)", limit: HostedKeys.maximumCertificateLength) else {
                return nil
            }
            let words = text.prefix { $0 != 0x0A }.split(
                separator: 0x20, maxSplits: 2, omittingEmptySubsequences: true)
            guard words.count >= 2, let blob = bytes(ofBase64: Array(words[1])),
                let key = SSHPublicKey(blob), key.hasCertificate
            else { return nil }
            return UserCertificate(
                blob: blob, plain: key.plain, comment: words.count > 2 ? Array(words[2]) : Array(name.utf8))
        }
    }

    private func bytes(ofBase64 digits: [UInt8]) -> [UInt8]? {
        let span = digits.span
        return (try? Base64.decode(span))?.copied()
    }
}
