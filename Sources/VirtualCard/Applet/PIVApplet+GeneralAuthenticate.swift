internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// GENERAL AUTHENTICATE with a key pair: signature, decryption, key agreement. SP 800-73-5 part 2 §3.2.4.
extension PIVApplet {
    mutating func generalAuthenticate(_ command: CommandAPDU) throws(Refusal) -> ResponseAPDU {
        let template = try parsing { () throws(TLVError) in try AuthenticationTemplate(parsing: command.data) }
        let reference = CardKeyReference(rawValue: command.p2)
        if reference == .management { return try authenticateManagement(algorithm: command.p1, template) }
        guard profile.keyReferences.contains(reference) else { throw Refusal(.incorrectParameters) }
        guard let key = contents.keys[reference] else { throw Refusal(.referenceNotFound) }
        let use = try keyUse(key, identifier: command.p1, template)
        try requireAuthorization(for: key, at: reference)
        return AuthenticationTemplate.response(try CardCrypto.perform(use, with: key))
    }

    /// The use of the key that the command asks for.
    private func keyUse(
        _ key: CardKey, identifier: UInt8, _ template: AuthenticationTemplate
    ) throws(Refusal) -> CardCrypto.KeyUse {
        guard template.response?.isEmpty == true, template.witness == nil else { throw Refusal(.incorrectData) }
        if let digest = hashFunction(identifier, of: key), let message = template.challenge {
            return .sign(try CardCrypto.hash(message, digest))
        }
        guard profile.algorithm(identifier) == key.algorithm else { throw Refusal(.incorrectParameters) }
        switch (template.challenge, template.exponentiation) {
        case (let input?, nil):
            if let length = key.algorithm.modulusLength, input.count == length { return .rawRSA(input) }
            if key.algorithm == .ed25519 { return .sign(input) }
            if let length = key.algorithm.fieldLength, input.count == length, !profile.has(.hashesOnCard) {
                return .sign(input)
            }
        case (nil, let point?):
            if let length = key.algorithm.fieldLength, point.count == 1 + 2 * length { return .agree(point) }
            if key.algorithm == .x25519, point.count == 32 { return .agree(point) }
        default: break
        }
        throw Refusal(.incorrectData)
    }

    /// The digest of an algorithm under which PivApplet hashes the message itself; nil for any other algorithm.
    private func hashFunction(_ identifier: UInt8, of key: CardKey) -> DigestAlgorithm? {
        guard profile.has(.hashesOnCard) else { return nil }
        switch (identifier, key.algorithm) {
        case (0xF0, .p256), (0xF2, .p384): return .sha1
        case (0xF1, .p256), (0xF3, .p384): return .sha256
        case (0xF4, .p384): return .sha384
        default: return nil
        }
    }

    private mutating func requireAuthorization(for key: CardKey, at reference: CardKeyReference) throws(Refusal) {
        if profile.transport.interface == .contactless, reference != .cardAuthentication {
            throw Refusal(.securityStatusNotSatisfied)
        }
        var policy = key.pinPolicy
        if reference == .cardAuthentication, profile.has(.cardAuthenticationWantsPIN) { policy = .once }
        let isAuthorized =
            switch policy {
            case .never: true
            case .once: isPINVerified
            case .always: isPINVerified && session.pinIsFresh
            }
        guard isAuthorized else { throw Refusal(.securityStatusNotSatisfied) }
        try requireTouch(key.touchPolicy)
    }
}

extension CardProfile {
    /// The algorithm that an identifier stands for on this card.
    func algorithm(_ identifier: UInt8) -> CardAlgorithm? {
        let algorithm: CardAlgorithm? =
            switch identifier {
            case 0x00: .tripleDES
            case 0x22 where has(.ed25519As22): .ed25519
            case 0xE0 where has(.ed25519As22): nil
            default: CardAlgorithm(rawValue: identifier)
            }
        return algorithm.flatMap { algorithms.contains($0) ? $0 : nil }
    }
}
