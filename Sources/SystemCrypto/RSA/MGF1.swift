internal import SecureBytes

/// The mask generation function of RFC 8017 §B.2.1.
enum MGF1 {
    static func mask(seed: Span<UInt8>, count: Int, using algorithm: DigestAlgorithm) throws(CryptoError) -> Secret {
        try Secret(capacity: count) { output throws(CryptoError) in
            var counter: UInt32 = 0
            while output.count < count {
                var context = try DigestContext(algorithm)
                try context.update(seed)
                try context.update(counter.bigEndianBytes)
                let digest = try context.finalizeSecret()
                let bytes = digest.bytes
                for index in 0..<min(bytes.count, count - output.count) { output.append(bytes[index]) }
                counter += 1
            }
        }
    }
}
