internal import TokenKit

/// GENERAL AUTHENTICATE with the management key. SP 800-73-5 part 2 §3.2.4 and appendix A.1 and A.2.
extension PIVApplet {
    mutating func authenticateManagement(
        algorithm identifier: UInt8, _ template: AuthenticationTemplate
    ) throws(Refusal) -> ResponseAPDU {
        guard let key = contents.managementKey else { throw Refusal(.referenceNotFound) }
        guard profile.algorithm(identifier) == key.algorithm else { throw Refusal(.incorrectParameters) }
        // An exchange is valid only for the next command.
        let pending = session.managementExchange
        session.managementExchange = nil
        switch (template.witness, template.challenge, template.response) {
        case (nil, []?, nil): return try giveChallenge(key)
        case ([]?, nil, nil): return try giveWitness(key)
        case (nil, nil, let response?): return try checkResponse(response, against: pending, key)
        case (let witness?, let challenge?, _) where !witness.isEmpty:
            return try checkWitness(witness, challenge, against: pending, key)
        case (nil, let challenge?, []?): return try answer(challenge, key)
        default: throw Refusal(.incorrectData)
        }
    }

    /// External authentication, first half: gives a challenge for the host to encrypt.
    private mutating func giveChallenge(_ key: ManagementKey) throws(Refusal) -> ResponseAPDU {
        if session.challengeCount > 0, profile.has(.oneChallenge) { throw Refusal(.incorrectData) }
        let challenge = try CardCrypto.random(key.algorithm.blockLength ?? 0)
        session.challengeCount += 1
        session.managementExchange = .challenge(challenge)
        return AuthenticationTemplate.challenge(challenge)
    }

    private mutating func checkResponse(
        _ response: [UInt8], against pending: CardSession.ManagementExchange?, _ key: ManagementKey
    ) throws(Refusal) -> ResponseAPDU {
        guard case .challenge(let challenge) = pending else { throw Refusal(.conditionsNotSatisfied) }
        let expected = CardSecret(try CardCrypto.encrypt(challenge, with: key))
        try authenticate(expected.matches(response), key)
        return .success()
    }

    /// Mutual authentication, first half: gives a witness for the host to decrypt.
    private mutating func giveWitness(_ key: ManagementKey) throws(Refusal) -> ResponseAPDU {
        let witness = try CardCrypto.random(key.algorithm.blockLength ?? 0)
        session.managementExchange = .witness(witness)
        return AuthenticationTemplate.witness(try CardCrypto.encrypt(witness, with: key))
    }

    private mutating func checkWitness(
        _ answered: [UInt8], _ challenge: [UInt8], against pending: CardSession.ManagementExchange?,
        _ key: ManagementKey
    ) throws(Refusal) -> ResponseAPDU {
        guard case .witness(let witness) = pending else { throw Refusal(.conditionsNotSatisfied) }
        guard challenge.count == key.algorithm.blockLength else { throw Refusal(.incorrectData) }
        try authenticate(CardSecret(witness).matches(answered), key)
        return AuthenticationTemplate.response(try CardCrypto.encrypt(challenge, with: key))
    }

    /// Internal authentication: the card proves that it has the key. It ends a pending external authentication, so that the
    /// card does not answer its own challenge.
    private func answer(_ challenge: [UInt8], _ key: ManagementKey) throws(Refusal) -> ResponseAPDU {
        guard challenge.count == key.algorithm.blockLength else { throw Refusal(.incorrectData) }
        return AuthenticationTemplate.response(try CardCrypto.encrypt(challenge, with: key))
    }

    private mutating func authenticate(_ isRight: Bool, _ key: ManagementKey) throws(Refusal) {
        session.isManagementAuthenticated = false
        guard isRight else { throw Refusal(.securityStatusNotSatisfied) }
        try requireTouch(key.touchPolicy)
        session.isManagementAuthenticated = true
    }
}
