internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// The encoding of a stored card, as BER-TLV of private tags.
///
///     C0 profile name · C1 serial number
///     E2 { C0 tag, C1 value }*                                        data objects
///     E3 { C0 reference‖algorithm‖PIN‖touch‖origin, C1 PKCS#8 }*      keys
///     E4 { C0 algorithm‖touch, C1 value }?                            management key
///     E5 { C0 reference‖limit‖remaining, C1 value }*                  PINs
extension CardContents {
    func encoded(of profile: String) throws(CryptoError) -> [UInt8] {
        var elements = [TLV(0xC0, Array(profile.utf8)), TLV(0xC1, serialNumber.bigEndianBytes)]
        elements += objects.sorted { $0.key.rawValue < $1.key.rawValue }.map { tag, value in
            TLV(0xE2, [TLV(0xC0, tag.octets), TLV(0xC1, value)])
        }
        for (reference, key) in keys.sorted(by: { $0.key < $1.key }) {
            let numbers = [
                reference.rawValue, key.algorithm.rawValue, key.pinPolicy.rawValue, key.touchPolicy.rawValue,
                key.origin.rawValue,
            ]
            elements.append(TLV(0xE3, [TLV(0xC0, numbers), TLV(0xC1, try CardContents.encode(key.privateKey))]))
        }
        if let key = managementKey {
            elements.append(
                TLV(0xE4, [TLV(0xC0, [key.algorithm.rawValue, key.touchPolicy.rawValue]), TLV(0xC1, key.value.bytes)]))
        }
        elements += references.sorted { $0.key.rawValue < $1.key.rawValue }.map { reference, data in
            TLV(0xE5, [TLV(0xC0, [reference.rawValue, data.limit, data.remaining]), TLV(0xC1, data.value.bytes)])
        }
        return elements.flatMap { $0.encoded() }
    }

    /// - Throws: ``TLVError`` for anything that ``encoded(of:)`` does not write.
    init(parsing bytes: [UInt8], profile: inout String) throws(TLVError) {
        var reader = TLVReader(bytes)
        profile = String(decoding: try reader.require(0xC0).value, as: UTF8.self)
        serialNumber = UInt32(bigEndianBytes: try reader.require(0xC1).value)
        while let element = try reader.next(0xE2) { try addObject(element) }
        while let element = try reader.next(0xE3) { try addKey(element) }
        if let element = try reader.next(0xE4) { try setManagementKey(element) }
        while let element = try reader.next(0xE5) { try addReference(element) }
        try reader.end()
    }

    private mutating func addObject(_ element: TLV) throws(TLVError) {
        let (tag, value) = try CardContents.fields(element)
        guard (1...3).contains(tag.count) else { throw TLVError(.wrongLength, tag: element.tag) }
        objects[TLVTag(rawValue: UInt32(bigEndianBytes: tag))] = value
    }

    private mutating func addKey(_ element: TLV) throws(TLVError) {
        let (numbers, encoded) = try CardContents.fields(element)
        guard numbers.count == 5, let algorithm = CardAlgorithm(rawValue: numbers[1]),
            let pinPolicy = CardKey.PINPolicy(rawValue: numbers[2]),
            let touchPolicy = CardKey.TouchPolicy(rawValue: numbers[3]),
            let origin = CardKey.Origin(rawValue: numbers[4]),
            let key = try? PrivateKey(encoded: Secret(copying: encoded.span)), key.kind == algorithm.kind
        else { throw TLVError(.wrongLength, tag: element.tag) }
        keys[CardKeyReference(rawValue: numbers[0])] = CardKey(
            key, algorithm: algorithm, pinPolicy: pinPolicy, touchPolicy: touchPolicy, origin: origin)
    }

    private static func encode(_ key: PrivateKey) throws(CryptoError) -> [UInt8] {
        let encoded = try key.pkcs8()
        let bytes = encoded.bytes
        return Array(copying: bytes)
    }

    private mutating func setManagementKey(_ element: TLV) throws(TLVError) {
        let (numbers, value) = try CardContents.fields(element)
        guard numbers.count == 2, let algorithm = CardAlgorithm(rawValue: numbers[0]),
            algorithm.cipherKeyLength == value.count, let touchPolicy = CardKey.TouchPolicy(rawValue: numbers[1])
        else { throw TLVError(.wrongLength, tag: element.tag) }
        managementKey = ManagementKey(algorithm: algorithm, value: CardSecret(value), touchPolicy: touchPolicy)
    }

    private mutating func addReference(_ element: TLV) throws(TLVError) {
        let (numbers, value) = try CardContents.fields(element)
        guard numbers.count == 3, let reference = PINReference(rawValue: numbers[0]), numbers[2] <= numbers[1],
            value.count == ReferenceData.length
        else { throw TLVError(.wrongLength, tag: element.tag) }
        references[reference] = ReferenceData(value: value, limit: numbers[1], remaining: numbers[2])
    }

    private static func fields(_ element: TLV) throws(TLVError) -> ([UInt8], [UInt8]) {
        var reader = try element.children()
        let fields = (try reader.require(0xC0).value, try reader.require(0xC1).value)
        try reader.end()
        return fields
    }
}
