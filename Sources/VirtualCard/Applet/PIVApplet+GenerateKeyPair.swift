internal import SecureBytes
internal import TokenKit

/// GENERATE ASYMMETRIC KEY PAIR. SP 800-73-5 part 2 §3.3.1, with the policies of Yubico's extension.
extension PIVApplet {
    mutating func generateKeyPair(_ command: CommandAPDU) throws(Refusal) -> ResponseAPDU {
        let reference = CardKeyReference(rawValue: command.p2)
        guard command.p1 == 0x00, profile.keyReferences.contains(reference) else {
            throw Refusal(.incorrectParameters)
        }
        try requireManagement()
        let parameters = try parsing { () throws(TLVError) in
            var reader = try TLVReader.only(0xAC, in: command.data).children()
            return try reader.all()
        }
        guard let algorithm = try octet(0x80, in: parameters).flatMap(profile.algorithm), algorithm.isAsymmetric else {
            throw Refusal(.incorrectData)
        }
        let policies = try keyPolicies(parameters, for: reference)
        let key = try CardCrypto.generate(algorithm, pinPolicy: policies.pin, touchPolicy: policies.touch)
        contents.keys[reference] = key
        return .success(TLV(0x7F49, key.publicTemplate).encoded())
    }

    /// The policies of PIN and touch in `AA` and `AB`; the slot's own rules where they are absent or 0.
    func keyPolicies(
        _ parameters: [TLV], for reference: CardKeyReference
    ) throws(Refusal) -> (pin: CardKey.PINPolicy, touch: CardKey.TouchPolicy) {
        let (pin, touch) = (try octet(0xAA, in: parameters) ?? 0, try octet(0xAB, in: parameters) ?? 0)
        guard profile.hasPolicies || (pin == 0 && touch == 0) else { throw Refusal(.incorrectData) }
        let pinPolicy = pin == 0 ? .standard(for: reference) : CardKey.PINPolicy(rawValue: pin)
        let touchPolicy = touch == 0 ? .never : CardKey.TouchPolicy(rawValue: touch)
        guard let pinPolicy, let touchPolicy else { throw Refusal(.incorrectData) }
        return (pinPolicy, touchPolicy)
    }

    private func octet(_ tag: TLVTag, in parameters: [TLV]) throws(Refusal) -> UInt8? {
        guard let value = parameters.first(where: { $0.tag == tag })?.value else { return nil }
        guard let octet = value.first, value.count == 1 else { throw Refusal(.incorrectData) }
        return octet
    }
}
