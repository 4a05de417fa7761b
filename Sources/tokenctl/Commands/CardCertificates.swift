internal import ArgumentParser
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

extension Card {
    struct PutCertificate: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "put-certificate", abstract: "Put the certificate of a key beside it.",
            discussion: """
                The certificate is checked against the slot's key where the card tells its keys. One that does not fit is compressed.
                """)

        @Argument(help: "The slot, such as 9A.")
        var slot: SlotArgument

        @Argument(help: "The file with the certificate, PEM or DER; - for standard input.", completion: .file())
        var file: String?

        @Flag(help: "Remove the certificate, and leave the key.")
        var delete = false

        @OptionGroup var weakness: WeakRSAKeyOptions
        @OptionGroup var output: OutputOptions
        @OptionGroup var administration: AdministrationOptions

        func validate() throws {
            guard (file == nil) == delete else {
                throw ValidationError(localized: "give either the file with the certificate or --delete")
            }
        }

        func run() throws {
            let certificate = try file.map { file in
                guard let first = try CertificateFile.read(file).first else {
                    throw KeychainError(.itemNotFound, "there is no certificate in '\(file)'")
                }
                return first
            }
            let card = try administration.card()
            try card.change(
                .setCertificate(slot: slot.name, certificate?.der, allowsWeak: weakness.allowWeakKey))
            let sentence: LocalizedText =
                certificate.map { "The certificate '\($0.title)' is in slot \(slot.name)." }
                ?? "Slot \(slot.name) has no certificate."
            try card.report(sentence, of: slot, output)
        }
    }

    struct SelfSign: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "self-sign", abstract: "Make a certificate that a key of a card signs for itself.",
            discussion: """
                Other programs find a key by its certificate. For ssh and git, and to decrypt files of one's own, one without an \
                authority is enough.
                """)

        @Argument(help: "The slot, such as 9A.")
        var slot: SlotArgument

        @Option(
            name: .letter("c"), help: ArgumentHelp("The common name of the subject.", valueName: "name"))
        var commonName: String

        @Option(
            name: .letter("d"), help: ArgumentHelp("For how many days from now it is valid.", valueName: "days"))
        var days: UInt16 = 3650

        @OptionGroup var weakness: WeakRSAKeyOptions
        @OptionGroup var output: OutputOptions
        @OptionGroup var administration: AdministrationOptions

        func validate() throws {
            // ub-common-name of RFC 5280, appendix A.1.
            guard (1...64).contains(commonName.unicodeScalars.count) else {
                throw ValidationError(localized: "a common name has 1 to 64 characters")
            }
            try SelfSign.check(days: days)
        }

        static func check(days: UInt16) throws {
            guard days > 0 else { throw ValidationError(localized: "a certificate is valid for a day at least") }
        }

        func run() throws {
            let card = try administration.card()
            try card.requireSlot(slot.name)
            try card.selfSign(
                slot.name, commonName: commonName, days: days, allowsWeak: weakness.allowWeakKey)
            try card.report("The certificate '\(commonName)' is in slot \(slot.name).", of: slot, output)
        }
    }
}

extension AdministeredCard {
    /// Has the key of a slot sign a certificate for itself, and puts that beside it.
    ///
    /// - Parameters:
    ///   - use: nil for that of the slot.
    ///   - renewal: the renewal that the key is made for, where it is not in its place yet.
    ///   - allowsWeak: whether a person has agreed to an RSA key that everybody can compute.
    func selfSign(
        _ slot: String, for use: KeyRole? = nil, commonName: String, days: UInt16, renewal: KeyRenewal? = nil,
        allowsWeak: Bool = false
    ) throws {
        let key = try key(in: slot)
        let publicKey = try PublicKey(spki: key.publicKey)
        let algorithm = try CertificateBuilder.signatureAlgorithm(of: publicKey, digest: .sha256)
        var builder = try CertificateBuilder(
            commonName: commonName, publicKey: publicKey, notBefore: Clock.now - 60,
            notAfter: Clock.now + Int64(days) * 86_400)
        let places = try use == nil ? host.managementKey(of: identifier, .silent).keyPlaces : []
        let use = use ?? places.first { $0.slot == slot }?.use ?? .decryption
        builder.keyUsage = KeyUsage(use, publicKey.kind)
        let message = try builder.toBeSigned(using: algorithm)
        let signature = try sign(message, algorithm, with: key)
        let certificate = try CertificateBuilder.assemble(message, signature: signature, algorithm: algorithm)
        try change(
            renewal.map { .setRenewedCertificate($0, in: slot, certificate.der) }
                ?? .setCertificate(slot: slot, certificate.der, allowsWeak: allowsWeak))
    }
}

extension KeyUsage {
    fileprivate init(_ use: KeyRole, _ kind: KeyKind) {
        switch use {
        case .authentication, .presence: self = .digitalSignature
        case .signature: self = [.digitalSignature, .nonRepudiation]
        case .decryption, .retirement:
            self = kind.isRSA ? [.keyEncipherment, .digitalSignature] : [.keyAgreement, .digitalSignature]
        }
    }
}
