internal import SecureBytes
internal import SystemCrypto
package import TokenKit

/// The card's management key, which writes to it. SP 800-73-5 part 1 table 4b, SP 800-78-5 §3.3.
enum ManagementKey {
    static let reference: UInt8 = 0x9B

    /// The key that YubiKeys and their imitations are delivered with.
    static var factory: Secret {
        let third: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
        return Secret(copying: (third + third + third).span)
    }

    static func cipher(_ algorithm: PIVAlgorithm) -> BlockCipher? {
        BlockCipher.allCases.first { self.algorithm($0) == algorithm }
    }

    static func algorithm(_ cipher: BlockCipher) -> PIVAlgorithm {
        switch cipher {
        case .tripleDES: .tripleDES
        case .aes128: .aes128
        case .aes192: .aes192
        case .aes256: .aes256
        }
    }

    /// The ciphers that a key of this length may be for, of a card that does not tell.
    static func ciphers(ofKeyWith count: Int) -> [BlockCipher] {
        BlockCipher.allCases.filter { $0.keyLength == count }
    }
}

/// A card's metadata of its management key, on YubiKeys from firmware 5.3. Yubico, GET METADATA.
///
///     01 algorithm · 02 PIN policy, touch policy · 05 whether it is the factory's
package struct ManagementKeyMetadata {
    let cipher: BlockCipher?
    let isDefault: Bool?
    let touch: TouchPolicy

    package init(parsing data: [UInt8]) throws(TokenError) {
        let fields = try PIVFormat.parsing("management key metadata") { () throws(TLVError) in
            var reader = TLVReader(data)
            return try reader.fields()
        }
        cipher = fields[0x01]?.first.flatMap { ManagementKey.cipher(PIVAlgorithm(rawValue: $0)) }
        touch = fields[0x02]?.dropFirst().first.map { YubicoPolicy.touch($0) } ?? .unknown
        isDefault = fields[0x05]?.first.map { $0 != 0 }
    }
}
