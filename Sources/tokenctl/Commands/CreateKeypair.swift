internal import HostAPI
internal import KeychainModel
internal import ArgumentParser
internal import Localization
internal import SystemCrypto

struct CreateKeypair: ParsableCommand, AttributeCommand {
    static let itemClass = ItemClass.key
    static let attributeCommand = AttributeOption.Command.createKeypair

    static let configuration = CommandConfiguration(
        commandName: "create-keypair", abstract: "Make a key pair, or a symmetric key, in a keychain.",
        discussion: String(
            localized: """
                Without -a the key is one of RSA. The sizes are those of RSA (2048, 3072 or 4096 bits), of the curves P-256, \
                P-384 and P-521, of AES (128, 192 or 256) and of HMAC (\(KeyType.minimumHMACBits) to \
                \(KeyType.maximumGeneratedHMACBits)). Dates are written as 2026-10-21, in UTC.
                """))

    @OptionGroup var key: AttributeOptions<CreateKeypair>

    @Option(
        name: .letter("d"), parsing: .unconditional,
        help: ArgumentHelp("For how many days from now it is valid.", valueName: "days"))
    var days: UInt16?

    @Option(
        name: .letter("k"), help: ArgumentHelp("The keychain, instead of the default one.", valueName: "keychain"),
        completion: Completions.keychains)
    var keychain: String?

    @OptionGroup var access: TrustedApplicationOptions

    @Argument(
        help: ArgumentHelp(
            String(
                localized: """
                    The label of the key, or of both keys. (default: \(Label.ofPair), and \(Label.ofSymmetricKey) of one that is \
                    symmetric)
                    """)))
    var label: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var authentication: AuthenticationOptions

    /// The labels of keys that are given none.
    private enum Label {
        static let ofPair = "Imported Private Key"
        static let ofSymmetricKey = "Symmetric Key"
    }

    func validate() throws {
        let (start, end) = (key.attributes[.startDate], key.attributes[.endDate])
        guard end == nil || days == nil else {
            throw ValidationError(localized: "give either the last day (-t) or the number of days (-d)")
        }
        if case (.date(let start), .date(let end)) = (start, end), start > end {
            throw ValidationError(localized: "the day that it becomes valid (-f) is after the last (-t)")
        }
    }

    private enum NewKey {
        case pair(KeyKind)
        case symmetric(KeyType, bits: Int)
    }

    func run() throws {
        let new = try newKey()
        let named = try NamedKeychain(file: keychain)
        let access = try access.decisions(in: named.details, named.access.host)
        let prompter = try authentication.prompter(for: [keychain].compactMap { $0 }, named.access)
        let change = try KeychainChange(of: named, authentication, prompter, to: "store a key")
        var attributes = key.attributes.filter { [.startDate, .endDate].contains($0.key) }
        if let days { attributes[.endDate] = .date(Clock.now + Int64(days) * 86_400) }
        let halves: [NewItem]
        switch new {
        case .pair(let kind):
            attributes[.label] = .string(label ?? Label.ofPair)
            let pair = try NewItem.generatedKeyPair(kind, attributes)
            halves = [pair.publicKey, pair.privateKey]
        case .symmetric(let type, let bits):
            attributes[.label] = .string(label ?? Label.ofSymmetricKey)
            halves = [try .symmetricKey(type.randomKey(bits: bits), type: type, attributes)]
        }
        let keys = try change.add(halves)
        try change.decide(access, keys)
        if output.json {
            try Listing.showJSON(keys.map { ItemText.JSONItem($0, keychain: named.description.location) })
        }
    }

    private func newKey() throws -> NewKey {
        let type = key.attributes[.keyType]?.integer.map(KeyType.init(rawValue:)) ?? .rsa
        let size = key.attributes[.keySizeInBits]?.integer.map(Int.init)
        switch (type, size) {
        case (.rsa, nil): return .pair(.rsa(bits: 2048))
        case (.rsa, let bits?) where [2048, 3072, 4096].contains(bits): return .pair(.rsa(bits: bits))
        case (.ecPrime, nil), (.ecPrime, 256): return .pair(.ecP256)
        case (.ecPrime, 384): return .pair(.ecP384)
        case (.ecPrime, 521): return .pair(.ecP521)
        case (.ed25519, nil), (.ed25519, 256): return .pair(.ed25519)
        case (.x25519, nil), (.x25519, 256): return .pair(.x25519)
        case (.aes, _), (.hmac, _):
            let bits = size ?? 256
            try type.checkSize(ofGeneratedKey: bits)
            return .symmetric(type, bits: bits)
        default:
            throw KeychainError(
                .unsupportedKeySize, "there are no \(type.optionName) keys of \(size ?? 0) bits",
                remedy: "leave the size out")
        }
    }
}

extension KeyType {
    /// The name in the commands' options.
    fileprivate var optionName: String {
        ItemClass.key.definition(of: .keyType)?.option?.form.name(of: rawValue) ?? "\(rawValue)"
    }
}

/// A date, with or without a time, in UTC: `2026-10-21`, `2026-10-21-09:54:24`.
struct DateArgument: ExpressibleByArgument {
    /// Seconds since 1970.
    let seconds: Int64

    init?(argument: String) {
        guard let match = argument.wholeMatch(of: /(\d{4})-(\d\d)-(\d\d)(?:[-T](\d\d):(\d\d)(?::(\d\d))?Z?)?/),
            let seconds = Clock.seconds(
                year: Int(match.1), month: Int(match.2), day: Int(match.3), hour: match.4.map { Int($0) } ?? 0,
                minute: match.5.map { Int($0) } ?? 0, second: match.6.map { Int($0) } ?? 0)
        else { return nil }
        self.seconds = seconds
    }
}
