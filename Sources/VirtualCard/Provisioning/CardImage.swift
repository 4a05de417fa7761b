internal import SecureBytes
internal import SystemCrypto

/// The content of a card as a folder of files, a file for each data object and each key.
///
/// Objects: `discovery.bin`, with its tag `7E`, and without the tag `53` `ccc.bin`, `chuid.bin`, `security.bin`,
/// `printed.bin` and `keyhistory.bin`. Certificates, PEM or DER, and keys, PKCS#12 with an empty password: `auth-9a`,
/// `sign-9c`, `keymgmt-9d`, `cardauth-9e` and `hist1-82` to `hist20-95`, with `.crt` and `.p12`. Any may be missing.
public struct CardImage: Sendable {
    private static let fileLimit = 1 << 20

    private static let objectFiles: [(name: String, tag: TLVTag)] = [
        ("ccc.bin", DataObject.cardCapability), ("chuid.bin", DataObject.cardholderIdentifier),
        ("security.bin", DataObject.security), ("printed.bin", DataObject.printedInformation),
        ("keyhistory.bin", DataObject.keyHistory),
    ]

    private static let keyFiles: [(name: String, key: CardKeyReference)] =
        [
            ("auth-9a", .authentication), ("sign-9c", .signature), ("keymgmt-9d", .keyManagement),
            ("cardauth-9e", .cardAuthentication),
        ]
        + CardKeyReference.retired.enumerated().map {
            ("hist\($0.offset + 1)-\($0.element.description.lowercased())", $0.element)
        }

    private var objects: [TLVTag: [UInt8]] = [:]
    private var keys: [CardKeyReference: PrivateKey] = [:]

    /// Reads a folder.
    ///
    /// - Throws: ``VirtualCardError`` `.unreadable` for a folder without any such file, `.corrupt` for a file that is
    ///   not what its name says.
    public static func load(_ folder: String) throws(VirtualCardError) -> CardImage {
        var image = CardImage()
        for (name, tag) in objectFiles { image.objects[tag] = try read(folder, name) }
        if let discovery = try read(folder, "discovery.bin") {
            guard let element = try? TLVReader.only(0x7E, in: discovery) else { throw corrupt(folder, "discovery.bin") }
            image.objects[DataObject.discovery] = element.value
        }
        for (name, key) in keyFiles {
            if let file = try read(folder, name + ".crt"), let tag = DataObject.certificate(of: key) {
                guard let der = certificate(in: file) else { throw corrupt(folder, name + ".crt") }
                image.objects[tag] = DataObject.certificate(der)
            }
            if let file = try read(folder, name + ".p12") {
                image.keys[key] = try privateKey(in: file, folder, name + ".p12")
            }
        }
        guard !image.objects.isEmpty || !image.keys.isEmpty else {
            throw VirtualCardError(.unreadable, "\(folder) holds no file of a card")
        }
        return image
    }

    /// The card: PIN 123456, PUK 12345678, the usual management key, and a global PIN 123456 where the discovery object
    /// allows one.
    ///
    /// - Throws: ``VirtualCardError`` `.unsupported` for a key that the profile does not support.
    public func makeCard(
        profile: CardProfile = .generic, clock: any CardClock = SystemClock()
    ) throws(VirtualCardError) -> VirtualCard {
        var contents = try CardContents.manufactured(profile, serialNumber: VirtualCard.defaultSerialNumber)
        contents.objects[DataObject.discovery] = nil
        contents.objects.merge(objects) { $1 }
        for (reference, key) in keys {
            guard let algorithm = CardAlgorithm(key.kind), profile.algorithms.contains(algorithm) else {
                throw VirtualCardError(.unsupported, "a \(profile.name) has no \(key.kind) key \(reference)")
            }
            contents.keys[reference] = CardKey(
                key, algorithm: algorithm, pinPolicy: .standard(for: reference), touchPolicy: .never, origin: .imported)
        }
        if DataObject.globalPINSatisfies(objects[DataObject.discovery]) {
            contents.references[.global] = .factory(.global, limit: profile.tries)
        }
        return VirtualCard(profile: profile, contents: contents, clock: clock)
    }

    private static func read(_ folder: String, _ name: String) throws(VirtualCardError) -> [UInt8]? {
        let path = "\(folder)/\(name)"
        return FileSystem.exists(path) ? try FileSystem.read(path, limit: fileLimit) : nil
    }

    /// The DER of a certificate, which may be invalid.
    private static func certificate(in file: [UInt8]) -> [UInt8]? {
        PEM.isPEM(file.span) ? try? PEM.blocks(labelled: "CERTIFICATE", in: file).first : file
    }

    private static func privateKey(
        in file: [UInt8], _ folder: String, _ name: String
    ) throws(VirtualCardError) -> PrivateKey {
        do {
            let parsed = try PKCS12.parse(file, password: Secret(capacity: 0) { _ in })
            if let key = parsed.keys.first { return key }
        } catch {
            throw VirtualCardError(.corrupt, "\(folder)/\(name) cannot be used: \(error)")
        }
        throw corrupt(folder, name)
    }

    private static func corrupt(_ folder: String, _ name: String) -> VirtualCardError {
        VirtualCardError(.corrupt, "\(folder)/\(name) is not what its name says")
    }
}
