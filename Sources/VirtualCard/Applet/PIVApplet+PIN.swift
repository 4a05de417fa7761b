internal import TokenKit

/// VERIFY, CHANGE REFERENCE DATA and RESET RETRY COUNTER. SP 800-73-5 part 2 §3.2.1 to §3.2.3.
extension PIVApplet {
    mutating func verify(_ command: CommandAPDU) throws(Refusal) -> ResponseAPDU {
        let reference = try pinReference(command.p2)
        guard profile.transport.interface == .contact else { throw Refusal(.securityStatusNotSatisfied) }
        switch command.p1 {
        case 0x00 where command.data.isEmpty:
            return try status(of: reference)
        case 0x00:
            return try verify(reference, command.data)
        case 0xFF where command.data.isEmpty && !profile.has(.noLogout):
            logOut(reference)
            return .success()
        default:
            throw Refusal(.incorrectParameters)
        }
    }

    mutating func changeReferenceData(_ command: CommandAPDU) throws(Refusal) -> ResponseAPDU {
        let reference = command.p2 == PINReference.unblocking.rawValue ? .unblocking : try pinReference(command.p2)
        guard command.p1 == 0x00 else { throw Refusal(.incorrectParameters) }
        let (old, new) = try halves(command.data)
        try requireWellFormed(new, reference)
        try spendTry(on: reference, with: old)
        contents.references[reference]?.value = CardSecret(new)
        if reference != .unblocking, !profile.has(.changeLeavesUnverified) { logIn(reference) }
        return .success()
    }

    mutating func resetRetryCounter(_ command: CommandAPDU) throws(Refusal) -> ResponseAPDU {
        let reference = profile.pinReference
        guard command.p1 == 0x00, command.p2 == reference.rawValue else { throw Refusal(.incorrectParameters) }
        let (unblockingKey, new) = try halves(command.data)
        try requireWellFormed(new, reference)
        try spendTry(on: .unblocking, with: unblockingKey)
        guard let limit = contents.references[reference]?.limit else { throw Refusal(.referenceNotFound) }
        contents.references[reference] = ReferenceData(value: new, limit: limit, remaining: limit)
        return .success()
    }

    // MARK: - Verification state

    private mutating func logIn(_ reference: PINReference) {
        session.verified.insert(reference)
        session.pinIsFresh = true
    }

    private mutating func logOut(_ reference: PINReference) {
        session.verified.remove(reference)
        session.pinIsFresh = false
    }

    private mutating func status(of reference: PINReference) throws(Refusal) -> ResponseAPDU {
        if profile.has(.statusQueryRefused) { throw Refusal(.wrongLength) }
        if profile.has(.statusQueryLogsOut) { logOut(reference) }
        if session.verified.contains(reference), !profile.has(.statusQueryNeverVerified) { return .success() }
        guard let data = contents.references[reference] else { throw Refusal(.referenceNotFound) }
        throw Refusal(data.remaining == 0 ? .authenticationMethodBlocked : triesLeft(data.remaining))
    }

    private mutating func verify(_ reference: PINReference, _ candidate: [UInt8]) throws(Refusal) -> ResponseAPDU {
        let isWellFormed = profile.has(.anyPINCharacters) || PIVApplet.isPIN(candidate, digitsOnly: true)
        if candidate.count != ReferenceData.length || !isWellFormed, !profile.has(.malformedPINCostsTry) {
            throw Refusal(.incorrectData)
        }
        try spendTry(on: reference, with: candidate)
        logIn(reference)
        return .success()
    }

    /// Takes one try away, and gives all back only when the value is right.
    private mutating func spendTry(on reference: PINReference, with candidate: [UInt8]) throws(Refusal) {
        guard var data = contents.references[reference] else { throw Refusal(.referenceNotFound) }
        guard data.remaining > 0 else { throw Refusal(.authenticationMethodBlocked) }
        data.remaining -= 1
        contents.references[reference] = data
        guard data.value.matches(candidate) else {
            logOut(reference)
            throw Refusal(triesLeft(data.remaining))
        }
        data.remaining = data.limit
        contents.references[reference] = data
    }

    private func triesLeft(_ count: UInt8) -> StatusWord {
        if profile.has(.triesUntold) { return .verificationFailed }
        return StatusWord(0x63, profile.has(.triesAs630X) ? count : 0xC0 | min(count, 0x0F))
    }

    // MARK: - Form of PINs

    private func pinReference(_ octet: UInt8) throws(Refusal) -> PINReference {
        guard let reference = PINReference(rawValue: octet), reference != .unblocking,
            contents.references[reference] != nil
        else { throw Refusal(.referenceNotFound) }
        return reference
    }

    private func halves(_ data: [UInt8]) throws(Refusal) -> (old: [UInt8], new: [UInt8]) {
        guard data.count == 2 * ReferenceData.length else { throw Refusal(.incorrectData) }
        return (Array(data.prefix(ReferenceData.length)), Array(data.suffix(ReferenceData.length)))
    }

    /// SP 800-73-5 part 1 §4.4: a PIN has six to eight digits, an unblocking key eight bytes of any value. With Yubico's policies
    /// an unblocking key has at least six bytes before the padding.
    private func requireWellFormed(_ value: [UInt8], _ reference: PINReference) throws(Refusal) {
        if reference == .unblocking, !profile.hasPolicies { return }
        let digitsOnly = reference != .unblocking && !profile.has(.anyPINCharacters)
        guard PIVApplet.isPIN(value, digitsOnly: digitsOnly) else { throw Refusal(.incorrectData) }
    }

    private static func isPIN(_ value: [UInt8], digitsOnly: Bool) -> Bool {
        let text = value.prefix { $0 != ReferenceData.padding }
        return value.count == ReferenceData.length && text.count >= 6
            && value.dropFirst(text.count).allSatisfy { $0 == ReferenceData.padding }
            && (!digitsOnly || text.allSatisfy { (0x30...0x39).contains($0) })
    }
}
