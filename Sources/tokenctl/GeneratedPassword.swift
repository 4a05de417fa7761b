internal import SecureBytes
internal import SystemCrypto

/// Random passwords that a person can also type: three groups of six letters and digits, as `Kd7mwq-hT4rbz-xpe9Vn`, with about 105 bits
/// of chance. Characters that look alike are left out, and each kind that sites demand is in it.
enum GeneratedPassword {
    private static let kinds = [
        Array("abcdefghijkmnopqrstuvwxyz".utf8), Array("ABCDEFGHJKLMNPQRSTUVWXYZ".utf8), Array("23456789".utf8),
    ]
    private static let characters = kinds.flatMap(\.self)
    private static let groups = 3
    private static let groupLength = 6
    private static let length = groups * (groupLength + 1) - 1

    static func make() throws(CryptoError) -> Secret {
        while true {
            let password = try candidate()
            if hasAllKinds(password) { return password }
        }
    }

    private static func hasAllKinds(_ password: borrowing Secret) -> Bool {
        let bytes = password.bytes
        var missing = kinds
        for index in bytes.indices {
            let character = bytes[index]
            missing.removeAll { $0.contains(character) }
        }
        return missing.isEmpty
    }

    private static func candidate() throws(CryptoError) -> Secret {
        // Values above the last whole multiple would make the first characters likelier.
        let limit = 256 / characters.count * characters.count
        return try Secret(capacity: length) { (output) throws(CryptoError) in
            while output.freeCapacity > 0 {
                let random = try RandomBytes.makeSecret(count: 2 * length)
                let bytes = random.bytes
                for index in bytes.indices where output.freeCapacity > 0 && Int(bytes[index]) < limit {
                    if output.count % (groupLength + 1) == groupLength { output.append(UInt8(ascii: "-")) }
                    output.append(characters[Int(bytes[index]) % characters.count])
                }
            }
        }
    }
}
