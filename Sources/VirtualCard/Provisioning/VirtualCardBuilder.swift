public import SystemCrypto
internal import TokenKit

/// Makes a virtual card that is ready for use: with keys, certificates of its own authority, and data objects.
///
///     var builder = VirtualCardBuilder(profile: .yubiKey57)
///     builder.keys[.authentication] = VirtualCardBuilder.Key(.rsa2048)
///     let card = try builder.build()
public struct VirtualCardBuilder: Sendable {
    /// A key pair to be made.
    public struct Key: Sendable, Hashable {
        public var algorithm: CardAlgorithm
        /// Nil for the slot's own policy.
        public var pinPolicy: CardKey.PINPolicy?
        public var touchPolicy = CardKey.TouchPolicy.never
        public var origin = CardKey.Origin.generated
        /// Whether its certificate is on the card.
        public var hasCertificate = true
        /// Whether the certificate is compressed with gzip.
        public var isCompressed = false

        public init(_ algorithm: CardAlgorithm) {
            self.algorithm = algorithm
        }
    }

    /// The card's treatment of a PIN that serves more than PIV.
    public enum GlobalPIN: Sendable, Hashable {
        case absent
        /// The global PIN counts in place of the PIV PIN.
        case satisfies
        /// The global PIN counts as well, and is the one to ask for.
        case isPrimary
    }

    public var profile: CardProfile
    public var clock: any CardClock = SystemClock()
    public var keys: [CardKeyReference: Key] = [:]
    public var holder = "Jo Doe"

    /// The GUID, of 16 bytes; random where nil.
    public var guid: [UInt8]?
    public var fascn = FASCN()
    public var serialNumber = VirtualCard.defaultSerialNumber
    public var globalPIN = GlobalPIN.absent

    /// A card without keys.
    public init(profile: CardProfile = .generic) {
        self.profile = profile
    }

    /// A card with keys of one algorithm at 9A, 9C, 9D and 9E.
    public init(profile: CardProfile = .generic, fourKeys algorithm: CardAlgorithm) {
        self.init(profile: profile)
        for reference in [.authentication, .signature, .keyManagement, .cardAuthentication] as [CardKeyReference] {
            keys[reference] = Key(algorithm)
        }
    }

    /// Makes the card.
    ///
    /// - Throws: ``VirtualCardError`` `.unsupported` for keys or objects that the profile does not support.
    public func build() throws(VirtualCardError) -> VirtualCard {
        do {
            return VirtualCard(profile: profile, contents: try makeContents(), clock: clock)
        } catch let error as VirtualCardError {
            throw error
        } catch {
            throw VirtualCardError(.unsupported, "cannot make the card: \(error)")
        }
    }

    private func makeContents() throws -> CardContents {
        var contents = try CardContents.manufactured(profile, serialNumber: serialNumber)
        let guid = try guid ?? RandomBytes.make(count: 16)
        try addIdentification(guid, to: &contents)
        try addKeys(guid, to: &contents)
        if globalPIN != .absent { addGlobalPIN(to: &contents) }
        for (tag, value) in contents.objects where value.count > profile.objectLimit {
            throw VirtualCardError(.unsupported, "object \(tag) has \(value.count) bytes, more than the card can hold")
        }
        return contents
    }

    private func addIdentification(_ guid: [UInt8], to contents: inout CardContents) throws {
        let isAnonymous = profile.has(.noIdentifiers)
        contents.objects[DataObject.cardholderIdentifier] = DataObject.cardholderIdentifier(
            fascn: isAnonymous ? Array(repeating: 0, count: 25) : fascn.encoded,
            guid: isAnonymous ? Array(repeating: 0, count: 16) : guid, expiration: "20431231")
        contents.objects[DataObject.cardCapability] = DataObject.cardCapability(identifier: guid)
        contents.objects[DataObject.printedInformation] = DataObject.printedInformation(
            name: holder, expiration: "2043DEC31", serialNumber: String(serialNumber))
    }

    private func addKeys(_ guid: [UInt8], to contents: inout CardContents) throws {
        let authority = try CertificateAuthority(name: "Virtual Card CA")
        for (reference, key) in keys.sorted(by: { $0.key < $1.key }) {
            guard profile.keyReferences.contains(reference), profile.algorithms.contains(key.algorithm) else {
                throw VirtualCardError(.unsupported, "a \(profile.name) has no \(key.algorithm) key \(reference)")
            }
            let pair = try PrivateKey.generate(key.algorithm.kind)
            contents.keys[reference] = CardKey(
                pair, algorithm: key.algorithm, pinPolicy: key.pinPolicy ?? .standard(for: reference),
                touchPolicy: key.touchPolicy, origin: key.origin)
            guard key.hasCertificate, let tag = DataObject.certificate(of: reference) else { continue }
            let certificate = try authority.issue(pair.publicKey, at: reference, holder: holder, guid: guid)
            contents.objects[tag] = DataObject.certificate(certificate.der, compression(of: key))
        }
        // YubiKeys do not write a Key History Object themselves.
        let retired = keys.filter { $0.key.isRetired && $0.value.hasCertificate }
        if profile.firmware == nil, !retired.isEmpty {
            contents.objects[DataObject.keyHistory] = DataObject.keyHistory(onCard: retired.count)
        }
    }

    private func compression(of key: Key) -> DataObject.Compression {
        guard key.isCompressed else { return .none }
        return profile.has(.oldCompressionFlag) ? .oldGzip : .gzip
    }

    private func addGlobalPIN(to contents: inout CardContents) {
        contents.references[.global] = .factory(.global, limit: profile.tries)
        contents.objects[DataObject.discovery] = DataObject.discovery(
            policy: [0x60, globalPIN == .isPrimary ? 0x20 : 0x10])
    }
}

extension VirtualCard {
    /// The public key of a key pair on the card.
    public func publicKey(of reference: CardKeyReference) -> PublicKey? {
        contents.keys[reference]?.privateKey.publicKey
    }
}
