import SecureBytes
import SystemCrypto
import TestSupport
import TokenKit

/// A card of a few lines whose every answer a test decides: objects, keys, and answers to single commands.
///
/// It gives answers that the virtual card cannot give.
final class SmallCard: CardChannel {
    static let template: [UInt8] = .init(hex: "61114F0600001000010079074F05A000000308")
    static let pin: [UInt8] = .init(hex: "313233343536FFFF")

    /// GET DATA answers without their status word, by tag.
    var objects: [String: [UInt8]] = [:]
    var keys: [UInt8: PrivateKey] = [:]

    /// Answers in hexadecimal, with their status word, to commands with these beginnings.
    var answers: [(command: String, answer: String)] = []
    var triesLeft = 3

    /// The PIN that is typed on the reader's keys, and the reader's answer instead. Without either, the reader has no keys.
    var typed = ""
    var readerAnswer: StatusWord?

    private(set) var commands: [String] = []
    private var isVerified = false
    private var chain: [UInt8] = []

    /// A connection to it, as a transaction borrows one.
    let link: CardLink
    let atr: ATR

    init(atr: String = "3B80800101", label: Bool = true) {
        self.atr = ATR(.init(hex: atr))
        link = CardLink(atr: self.atr, transmissionProtocol: .t1)
        let template =
            label ? "611B4F0600001000010079074F05A00000030850035049565F50025858" : Hex.encode(SmallCard.template)
        answers = [("00A40400", template + "9000")]
    }

    func transaction(epoch: Int = 0) -> CardTransaction {
        CardTransaction(on: self, link: link, epoch: epoch)
    }

    /// How often a command with this beginning was sent.
    func count(_ beginning: String) -> Int { commands.count { $0.hasPrefix(beginning) } }

    func forgetCommands() { commands = [] }

    func transmit(_ command: Span<UInt8>) throws(CardError) -> [UInt8] {
        let bytes = Array(copying: command)
        let text = Hex.encode(bytes)
        commands.append(text)
        if let own = answers.last(where: { text.hasPrefix($0.command) }) { return .init(hex: own.answer) }
        guard var parsed = try? CommandAPDU.parse(bytes).command else { return [0x67, 0x00] }
        parsed.data = chain + parsed.data
        chain = parsed.cla & 0x10 != 0 ? parsed.data : []
        return chain.isEmpty ? answer(to: parsed).encoded() : [0x90, 0x00]
    }

    func transmit(_ header: CommandAPDU, entering entry: PINEntry) throws(CardError) -> [UInt8] {
        if let readerAnswer { return [readerAnswer.sw1, readerAnswer.sw2] }
        guard !typed.isEmpty else { throw CardError(.communication, "the reader has no keys") }
        var command = header
        command.data = Array(typed.utf8) + entry.block.dropFirst(typed.utf8.count)
        let bytes = try command.encoded(.short)
        return try transmit(bytes.span)
    }

    private func answer(to command: CommandAPDU) -> ResponseAPDU {
        switch command.ins {
        case 0xCB:
            let object = objects[Hex.encode(command.data.dropFirst(2))]
            return ResponseAPDU(data: object ?? [], status: object == nil ? .objectNotFound : .success)
        case 0x20: return ResponseAPDU(status: verify(command))
        case 0x87: return authenticate(command)
        default: return ResponseAPDU(status: .instructionNotSupported)
        }
    }

    private func verify(_ command: CommandAPDU) -> StatusWord {
        guard command.p2 == 0x80 else { return .referenceNotFound }
        guard triesLeft > 0 else { return .authenticationMethodBlocked }
        if command.data.isEmpty { return isVerified ? .success : StatusWord(0x63, 0xC0 | UInt8(triesLeft)) }
        isVerified = command.data == SmallCard.pin
        triesLeft = isVerified ? 3 : triesLeft - 1
        return isVerified ? .success : StatusWord(0x63, 0xC0 | UInt8(triesLeft))
    }

    private func authenticate(_ command: CommandAPDU) -> ResponseAPDU {
        guard isVerified || command.p2 == 0x9E else { return ResponseAPDU(status: .securityStatusNotSatisfied) }
        guard let key = keys[command.p2], let template = try? TLVReader.only(0x7C, in: command.data),
            var reader = try? template.children(), let fields = try? reader.all(), let input = fields.last?.value
        else { return ResponseAPDU(status: .referenceNotFound) }
        guard let output = try? SmallCard.use(key, on: input) else { return ResponseAPDU(status: .incorrectData) }
        return ResponseAPDU(data: TLV(0x7C, [TLV(0x82, output)]).encoded(), status: .success)
    }

    private static func use(_ key: PrivateKey, on input: [UInt8]) throws -> [UInt8] {
        guard case .rsa = key.kind else { return try key.sign(digest: input, using: .ecdsa(nil)) }
        let output = try key.rsaPrivateOperation(input)
        return Array(copying: output.bytes)
    }
}

extension SmallCard {
    /// Gives a slot a key and a certificate for it.
    func provision(_ slot: UInt8, tag: String, _ key: PrivateKey) throws {
        keys[slot] = key
        objects[tag] = try SmallCard.certificateObject(for: key)
    }

    /// The GET DATA answer of a self-signed certificate.
    static func certificateObject(for key: PrivateKey) throws -> [UInt8] {
        let builder = try CertificateBuilder(
            commonName: "Test", publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 1_900_000_000)
        let der = try builder.selfSigned(by: key).der
        return TLV(0x53, [TLV(0x70, der), TLV(0x71, [0x00]), TLV(0xFE, [UInt8]())]).encoded()
    }

    /// A CHUID with this GUID and nothing else of note.
    static func chuid(guid: String) -> [UInt8] {
        TLV(0x53, [TLV(0x34, .init(hex: guid)), TLV(0x3E, [UInt8]()), TLV(0xFE, [UInt8]())]).encoded()
    }
}
