internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

// The commands that write to the card.
extension PIVCommand {
    /// GENERAL AUTHENTICATE with the management key. SP 800-73-5 part 2 §3.2.4.
    static func authenticate(_ cipher: BlockCipher, _ fields: [TLV]) -> CommandAPDU {
        CommandAPDU(
            ins: 0x87, p1: ManagementKey.algorithm(cipher).rawValue, p2: ManagementKey.reference,
            data: TLV(0x7C, fields).encoded(), expectedLength: CommandAPDU.maximumShortResponse)
    }

    /// GENERATE ASYMMETRIC KEY PAIR. SP 800-73-5 part 2 §3.3.1; the policies are Yubico's.
    static func generate(_ algorithm: PIVAlgorithm, _ policies: KeyPolicies, in slot: PIVSlot) -> CommandAPDU {
        CommandAPDU(
            ins: 0x47, p1: 0x00, p2: slot.rawValue,
            data: TLV(0xAC, [TLV(0x80, [algorithm.rawValue])] + policies.fields).encoded(),
            expectedLength: CommandAPDU.anyLength)
    }

    /// PUT DATA. SP 800-73-5 part 2 §3.3.2.
    ///
    /// - Parameter content: nil to remove the object.
    static func putData(_ content: [UInt8]?, _ container: PIVContainer) -> CommandAPDU {
        var command = putDataHeader
        command.data =
            container.isBare
            ? TLV(container.tag, content ?? []).encoded()
            : TLV(0x5C, container.tag.octets).encoded() + TLV(0x53, content ?? []).encoded()
        return command
    }

    static let putDataHeader = CommandAPDU(ins: 0xDB, p1: 0x3F, p2: 0xFF)

    /// The header of IMPORT KEY: Yubico.
    static func importKey(_ algorithm: PIVAlgorithm, to slot: PIVSlot) -> CommandAPDU {
        CommandAPDU(ins: 0xFE, p1: algorithm.rawValue, p2: slot.rawValue)
    }

    /// The data of IMPORT KEY.
    ///
    ///     01 p · 02 q · 03 d mod (p − 1) · 04 d mod (q − 1) · 05 q⁻¹ mod p, or 06 scalar, 07 or 08 seed · AA, AB policies
    static func importContent(_ key: PrivateKey, _ policies: KeyPolicies) throws(CryptoError) -> Secret {
        let end = policies.fields.flatMap { $0.encoded() }
        func field(_ tag: UInt8, _ secret: borrowing Secret, after start: borrowing Secret) -> Secret {
            let count = secret.count
            let length: [UInt8] =
                count < 0x80
                ? [UInt8(truncatingIfNeeded: count)]
                : count < 0x100
                    ? [0x81, UInt8(truncatingIfNeeded: count)]
                    : [0x82] + UInt16(truncatingIfNeeded: count).bigEndianBytes
            let header = [tag] + length
            return Secret(capacity: start.count + header.count + count) { output in
                output.append(start.bytes)
                output.append(header)
                output.append(secret.bytes)
            }
        }
        var content = Secret(capacity: 0) { _ in }
        switch key.kind {
        case .rsa:
            let primes = try key.rsaPrimes()
            content = field(1, primes.p, after: content)
            content = field(2, primes.q, after: content)
            content = field(3, primes.dP, after: content)
            content = field(4, primes.dQ, after: content)
            content = field(5, primes.qInv, after: content)
        case .ed25519: content = field(7, try key.scalar(), after: content)
        case .x25519: content = field(8, try key.scalar(), after: content)
        default: content = field(6, try key.scalar(), after: content)
        }
        return Secret(joining: content.bytes, end.span)
    }

    /// MOVE KEY: Yubico, from firmware 5.7.
    ///
    /// - Parameter target: nil to delete the key.
    static func moveKey(_ source: PIVSlot, to target: PIVSlot?) -> CommandAPDU {
        CommandAPDU(ins: 0xF6, p1: target?.rawValue ?? 0xFF, p2: source.rawValue)
    }

    /// The header of SET MANAGEMENT KEY: Yubico.
    static func setManagementKey(touch: TouchPolicy) -> CommandAPDU {
        let number: UInt8 =
            switch touch {
            case .always: 0xFE
            case .cached: 0xFD
            case .never, .unknown, .other: 0xFF
            }
        return CommandAPDU(ins: 0xFF, p1: 0xFF, p2: number)
    }

    /// The data of SET MANAGEMENT KEY: algorithm, reference, length and key.
    static func managementKeyContent(_ key: borrowing Secret, _ cipher: BlockCipher) -> Secret {
        let header = [
            ManagementKey.algorithm(cipher).rawValue, ManagementKey.reference, UInt8(truncatingIfNeeded: key.count),
        ]
        return Secret(joining: header.span, key.bytes)
    }

    /// SET PIN RETRIES: Yubico.
    static func setTries(_ pin: UInt8, _ unblockingKey: UInt8) -> CommandAPDU {
        CommandAPDU(ins: 0xFA, p1: pin, p2: unblockingKey)
    }

    /// RESET: Yubico.
    static let reset = CommandAPDU(ins: 0xFB, p1: 0x00, p2: 0x00)
}

extension KeyPolicies {
    /// `AA` PIN policy, `AB` touch policy.
    fileprivate var fields: [TLV] {
        let numbers: [(UInt32, UInt8?)] = [
            (0xAA, pin.flatMap { YubicoPolicy.number($0) }), (0xAB, touch.flatMap { YubicoPolicy.number($0) }),
        ]
        return numbers.compactMap { tag, number in number.map { TLV(TLVTag(rawValue: tag), [$0]) } }
    }
}
