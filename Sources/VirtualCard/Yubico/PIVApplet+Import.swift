internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// IMPORT KEY of Yubico's extension: P1 is the algorithm, P2 the key reference.
extension PIVApplet {
    private enum Field {
        /// p, q, d mod (p−1), d mod (q−1), q⁻¹ mod p.
        static let rsa: [TLVTag] = [0x01, 0x02, 0x03, 0x04, 0x05]
        static let ec: TLVTag = 0x06
        static let ed25519: TLVTag = 0x07
        static let x25519: TLVTag = 0x08
    }

    mutating func importKey(_ command: CommandAPDU) throws(Refusal) -> ResponseAPDU {
        let reference = CardKeyReference(rawValue: command.p2)
        guard profile.keyReferences.contains(reference), let algorithm = profile.algorithm(command.p1),
            algorithm.isAsymmetric
        else { throw Refusal(.incorrectParameters) }
        try requireManagement()
        let fields = try parsing { () throws(TLVError) in
            var reader = TLVReader(command.data)
            return try reader.all()
        }
        let policies = try keyPolicies(fields, for: reference)
        let key = try PIVApplet.privateKey(algorithm, fields)
        guard key.kind == algorithm.kind else { throw Refusal(.incorrectData) }
        contents.keys[reference] = CardKey(
            key, algorithm: algorithm, pinPolicy: policies.pin, touchPolicy: policies.touch, origin: .imported)
        return .success()
    }

    private static func privateKey(_ algorithm: CardAlgorithm, _ fields: [TLV]) throws(Refusal) -> PrivateKey {
        do throws(CryptoError) {
            switch algorithm {
            case .p256, .p384:
                let scalar = try secret(Field.ec, in: fields)
                guard scalar.count == algorithm.kind.coordinateLength else {
                    throw CryptoError(.invalidLength, "EC scalar")
                }
                return try PrivateKey(ecScalar: scalar, curve: algorithm.kind)
            case .ed25519: return try PrivateKey(seed: secret(Field.ed25519, in: fields), kind: .ed25519)
            case .x25519: return try PrivateKey(seed: secret(Field.x25519, in: fields), kind: .x25519)
            default:
                return try PrivateKey(
                    RSAPrimes(
                        p: secret(Field.rsa[0], in: fields), q: secret(Field.rsa[1], in: fields),
                        dP: secret(Field.rsa[2], in: fields), dQ: secret(Field.rsa[3], in: fields),
                        qInv: secret(Field.rsa[4], in: fields)))
            }
        } catch {
            throw Refusal(error)
        }
    }

    private static func secret(_ tag: TLVTag, in fields: [TLV]) throws(CryptoError) -> Secret {
        guard let field = fields.first(where: { $0.tag == tag }) else { throw CryptoError(.malformed, "private key") }
        return Secret(copying: field.value.span)
    }
}
