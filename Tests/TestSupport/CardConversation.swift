import SecureBytes
import SystemCrypto
import TokenKit
import VirtualCard

/// Speaks to a virtual card as a client does, one whole command after the other.
public final class CardConversation: CardChannel {
    public let card: VirtualCard
    private let link: CardLink

    /// Every answer as it came, status word included.
    public private(set) var answers: [[UInt8]] = []

    public init(_ card: VirtualCard) {
        self.card = card
        link = CardLink(
            atr: card.atr, transmissionProtocol: card.profile.transport.transmissionProtocol == .t0 ? .t0 : .t1)
    }

    /// A conversation with a new card of a profile, in simulated time.
    public convenience init(_ profile: CardProfile = .generic) throws {
        self.init(try VirtualCard(profile: profile, clock: SimulatedClock()))
    }

    public func transmit(_ command: Span<UInt8>) throws(CardError) -> [UInt8] {
        let answer = card.process(Array(copying: command))
        answers.append(answer)
        return answer
    }

    /// Sends a command, in blocks if it is long, and collects the answer.
    public func send(_ command: CommandAPDU) throws -> ResponseAPDU {
        var transaction = CardTransaction(on: self, link: link, epoch: 0)
        return try transaction.send(command)
    }

    public func send(
        _ ins: UInt8, _ p1: UInt8, _ p2: UInt8, _ data: [UInt8] = [], le: Int? = CommandAPDU.anyLength
    ) throws -> ResponseAPDU {
        try send(CommandAPDU(ins: ins, p1: p1, p2: p2, data: data, expectedLength: le))
    }

    // MARK: - PIV

    public static let identifier: [UInt8] = [0xA0, 0x00, 0x00, 0x03, 0x08, 0x00, 0x00, 0x10, 0x00, 0x01, 0x00]

    @discardableResult
    public func select(_ name: [UInt8] = identifier) throws -> ResponseAPDU {
        try send(0xA4, 0x04, 0x00, name)
    }

    @discardableResult
    public func verify(_ pin: String = "123456", reference: UInt8 = 0x80) throws -> StatusWord {
        try send(0x20, 0x00, reference, CardConversation.padded(pin), le: nil).status
    }

    public func getData(_ tag: TLVTag) throws -> ResponseAPDU {
        try send(0xCB, 0x3F, 0xFF, TLV(0x5C, tag.octets).encoded())
    }

    @discardableResult
    public func putData(_ tag: TLVTag, _ value: [UInt8]) throws -> StatusWord {
        try send(0xDB, 0x3F, 0xFF, TLV(0x5C, tag.octets).encoded() + TLV(0x53, value).encoded(), le: nil).status
    }

    /// GENERAL AUTHENTICATE with a private key; `field` is 81 for a signature or decryption, 85 for key agreement.
    public func privateKey(
        _ algorithm: UInt8, _ reference: UInt8, _ input: [UInt8], field: TLVTag = 0x81
    ) throws -> ResponseAPDU {
        let template = TLV(0x7C, [TLV(0x82, [UInt8]()), TLV(field, input)])
        return try send(0x87, algorithm, reference, template.encoded())
    }

    /// The content of field 82 of an answer.
    public static func response(in answer: ResponseAPDU) throws -> [UInt8] {
        var template = try TLVReader.only(0x7C, in: answer.data).children()
        return try template.require(0x82).value
    }

    /// Makes a key pair and returns its public key.
    public func generate(_ algorithm: CardAlgorithm, at reference: UInt8, policies: [UInt8] = []) throws -> PublicKey {
        let parameters = TLV(0x80, [algorithm.rawValue]).encoded() + policies
        let answer = try send(0x47, 0x00, reference, TLV(0xAC, parameters).encoded())
        return try CardConversation.publicKey(in: answer, algorithm)
    }

    public static func publicKey(in answer: ResponseAPDU, _ algorithm: CardAlgorithm) throws -> PublicKey {
        guard answer.status == .success else { throw TokenError(.malformed, "no key", status: answer.status) }
        var template = try TLVReader.only(0x7F49, in: answer.data).children()
        switch algorithm {
        case .p256: return try PublicKey(ecPoint: template.require(0x86).value, curve: .ecP256)
        case .p384: return try PublicKey(ecPoint: template.require(0x86).value, curve: .ecP384)
        case .ed25519: return try PublicKey(raw: template.require(0x86).value, kind: .ed25519)
        case .x25519: return try PublicKey(raw: template.require(0x86).value, kind: .x25519)
        default:
            let modulus = try template.require(0x81).value
            return try PublicKey(rsaModulus: modulus, exponent: template.require(0x82).value)
        }
    }

    /// Proves the management key by mutual authentication, and that the card has it too.
    @discardableResult
    public func authenticate(
        _ algorithm: CardAlgorithm? = nil, key: [UInt8] = defaultManagementKey
    ) throws -> StatusWord {
        let algorithm = algorithm ?? card.profile.managementAlgorithm
        let cipher = CardConversation.cipher(algorithm)
        let asked = try send(0x87, algorithm.rawValue, 0x9B, [0x7C, 0x02, 0x80, 0x00])
        guard asked.status == .success else { return asked.status }
        var template = try TLVReader.only(0x7C, in: asked.data).children()
        let witness = try cipher.decrypt(template.require(0x80).value, key: Secret(copying: key.span))
        let challenge = [UInt8](repeating: 0x5A, count: cipher.blockLength)
        let proof = TLV(0x7C, [TLV(0x80, witness), TLV(0x81, challenge)]).encoded()
        let answer = try send(0x87, algorithm.rawValue, 0x9B, proof)
        guard answer.status == .success else { return answer.status }
        let expected = try cipher.encrypt(challenge, key: Secret(copying: key.span))
        return try CardConversation.response(in: answer) == expected ? .success : .noPreciseDiagnosis
    }

    /// `01 … 08`, three times.
    public static let defaultManagementKey: [UInt8] = (0..<24).map { UInt8($0 % 8 + 1) }

    public static func cipher(_ algorithm: CardAlgorithm) -> BlockCipher {
        switch algorithm {
        case .aes128: .aes128
        case .aes192: .aes192
        case .aes256: .aes256
        default: .tripleDES
        }
    }

    /// A PIN as it is sent to the card.
    public static func padded(_ pin: String) -> [UInt8] {
        Array((Array(pin.utf8) + Array(repeating: 0xFF, count: 8)).prefix(8))
    }
}
