public import SecureBytes

extension RSAPadding {
    /// Removes OAEP from a card's plaintext, RFC 8017 §7.1.2 step 3.
    ///
    /// All faults of a block give the same error, after the same time (Manger's attack).
    ///
    /// - Throws: `decryptionFailed`; `invalidLength` for a block too short for the hash function.
    public static func removeOAEP(
        _ block: borrowing Secret, algorithm: DigestAlgorithm, mgf1: DigestAlgorithm, label: [UInt8] = []
    ) throws(CryptoError) -> Secret {
        let hashLength = algorithm.byteCount
        guard block.count >= 2 * hashLength + 2, block.count <= PublicKey.maximumModulusLength else {
            throw CryptoError(.invalidLength, "OAEP")
        }
        let bytes = block.bytes
        let maskedSeed = bytes.extracting(1...hashLength)
        let maskedData = bytes.extracting((hashLength + 1)...)
        let seedMask = try MGF1.mask(seed: maskedData, count: hashLength, using: mgf1)
        let seed = exclusiveOr(maskedSeed, seedMask.bytes)
        let dataMask = try MGF1.mask(seed: seed.bytes, count: maskedData.count, using: mgf1)
        let data = exclusiveOr(maskedData, dataMask.bytes)

        let labelHash = try Digest.hash(label, using: algorithm)
        let (isValid, start) = findMessage(in: data.bytes, labelHash: labelHash, firstByte: bytes[0])
        guard isValid != 0 else { throw CryptoError(.decryptionFailed, "OAEP") }
        return Secret(copying: data.bytes.extracting(start...))
    }

    /// Whether the data block is `lHash ‖ 00 … 00 ‖ 01 ‖ message`, as a mask, and the index at which the message starts.
    private static func findMessage(
        in data: Span<UInt8>, labelHash: [UInt8], firstByte: UInt8
    ) -> (isValid: UInt, start: Int) {
        var difference = UInt(firstByte)
        for index in labelHash.indices { difference |= UInt(data[index] ^ labelHash[index]) }
        var isFound: UInt = 0
        var separator: UInt = 0
        for index in labelHash.count..<data.count {
            let byte = UInt(data[index])
            let isSeparator = ConstantTime.isEqual(byte, 1)
            separator = ConstantTime.select(~isFound & isSeparator, UInt(index), separator)
            difference |= ~isFound & ~isSeparator & byte
            isFound |= isSeparator
        }
        return (ConstantTime.isZero(difference) & isFound, Int(separator) + 1)
    }

    private static func exclusiveOr(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Secret {
        Secret(capacity: left.count) { output in
            for index in left.indices { output.append(left[index] ^ right[index]) }
        }
    }
}
