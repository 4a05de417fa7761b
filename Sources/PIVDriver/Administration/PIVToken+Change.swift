internal import SecureBytes
internal import SystemCrypto
public import TokenKit

// Changes of the card's content, which need the management key.
extension PIVToken {
    public mutating func perform(
        _ change: TokenChange, by administrator: borrowing TokenAdministrator, _ card: inout CardTransaction
    ) throws(TokenError) -> TokenChangeOutcome {
        switch change {
        case .authenticate: try authorize(administrator, &card)
        case .generateKey(let id, let kind, let policies, let replacing, let allowsWeak):
            let slot = try requireSlot(id)
            let number = try number(of: kind)
            try requireStrong(number, allowsWeak: allowsWeak, &card)
            let former = try requireReplaceable(slot, replacing, &card)
            try authorize(administrator, &card)
            try identifyIfUnknown(&card)
            return .publicKey(try generate(number, policies, in: slot, inPlaceOf: former, &card))
        case .renewKey(let renewal, let id, let kind, let policies, let replacing, let allowsWeak):
            let (slot, number) = (try requireSlot(id), try number(of: kind))
            let mark = RenewalMark(try requireSlot(TokenObjectID(renewal.slot)), renewal.name)
            try requireStrong(number, allowsWeak: allowsWeak, &card)
            let former = try requireReplaceable(slot, replacing, &card)
            try authorize(administrator, &card)
            try identifyIfUnknown(&card)
            return .publicKey(try generate(number, policies, in: slot, inPlaceOf: former, for: mark, &card))
        case .importKey(let id, let key, let policies, let replacing, let allowsWeak):
            let slot = try requireSlot(id)
            let key = try privateKey(key)
            try requireStrong(key.publicKey, allowsWeak: allowsWeak)
            let former = try requireReplaceable(slot, replacing, &card)
            try authorize(administrator, &card)
            try identifyIfUnknown(&card)
            try load(key, policies, into: slot, inPlaceOf: former, &card)
            return .publicKey(key.publicKey.spki)
        case .setRenewedCertificate(let renewal, let id, let certificate):
            let slot = try requireSlot(id)
            let mark = RenewalMark(try requireSlot(TokenObjectID(renewal.slot)), renewal.name)
            try requireMatch(of: certificate, slot, allowsWeak: true, &card)
            try authorize(administrator, &card)
            try identifyIfUnknown(&card)
            try setCertificate(certificate, of: slot, for: mark, &card)
        case .setCertificate(let id, let certificate, let allowsWeak):
            let slot = try requireSlot(id)
            if let certificate { try requireMatch(of: certificate, slot, allowsWeak: allowsWeak, &card) }
            try requireReplaceableCertificate(of: slot, by: certificate, &card)
            // A card without metadata does not tell of a key that it keeps without its certificate.
            let lone = certificate == nil ? try keyByCertificate(in: slot, &card) : nil
            try authorize(administrator, &card)
            if certificate != nil { try identifyIfUnknown(&card) }
            try setCertificate(certificate, of: slot, &card)
            if let lone { remember(keyPutInto: slot, lone, &card) }
        case .deleteKey(let id, let replacing):
            let slot = try requireSlot(id)
            let former = try requireReplaceable(slot, replacing, &card)
            try requireMoving(&card)
            try authorize(administrator, &card)
            try removeCertificate(former, of: slot, &card)
            try move(slot, to: nil, &card)
        case .moveKey(let source, let target):
            let (source, target) = (try requireSlot(source), try requireSlot(target))
            try requireMovable(source, to: target)
            try requireMoving(&card)
            try authorize(administrator, &card)
            try move(source, withCertificateTo: target, &card)
        case .setData(let id, let content):
            guard let container = PIVContainer.named(id.rawValue), !container.belongsToSlot else {
                throw TokenError(.invalidArgument, "there is no data object '\(id)' (certificates belong to slots)")
            }
            try requireFree(container, &card)
            try authorize(administrator, &card)
            try put(content, container, &card)
        case .identify:
            try authorize(administrator, &card)
            try identify(&card)
        case .setManagementKey(let new):
            try authorize(administrator, &card)
            return try setManagementKey(new, hasPIN: administrator.lastTry != nil, &card)
        case .setTries(let pin, let unblockingKey):
            guard let pin = UInt8(exactly: pin), let unblockingKey = UInt8(exactly: unblockingKey),
                pin > 0, unblockingKey > 0
            else { throw TokenError(.invalidArgument, "numbers of tries are 1 to 255") }
            guard administrator.lastTry != nil else { throw TokenError(.pinRequired, "this needs the PIN as well") }
            try authorize(administrator, &card)
            try setTries(pin, unblockingKey, &card)
        }
        return .done
    }

    func requireSlot(_ id: TokenObjectID) throws(TokenError) -> PIVSlot {
        guard let slot = PIVSlot(id) else {
            throw TokenError(
                .invalidArgument, "a PIV card has no slot '\(id)' (9A, 9C, 9D, 9E, 82 to 95, and F9 for attestation)")
        }
        return slot
    }

    // MARK: PINs

    private mutating func setTries(
        _ pin: UInt8, _ unblockingKey: UInt8, _ card: inout CardTransaction
    ) throws(TokenError) {
        let response = try send(PIVCommand.setTries(pin, unblockingKey), &card)
        guard response.status.isSuccess else { throw TokenError(response.status, "set the numbers of tries") }
        forgetPINs(&card)
    }

    /// Forgets the facts about PINs that another value has taken the place of.
    private mutating func forgetPINs(_ card: inout CardTransaction) {
        cardholderPIN.metadata = nil
        pins.notPresented()
        for kind in [PINKind.pin, .unblockingKey] {
            pins.learn(.unknown, of: kind)
            forgetRejected(kind, &card)
        }
    }

    // MARK: Erasing

    public mutating func erase(_ card: inout CardTransaction) throws(TokenError) {
        // The card's refusal tells whether it has the function, before any try is spent.
        let first = try send(PIVCommand.reset, &card)
        if !first.status.isSuccess {
            guard first.status == .conditionsNotSatisfied || first.status == .authenticationMethodBlocked else {
                throw TokenError(first.status, "reset the card")
            }
            let reference = try pinReference(&card)
            try block(PIVCommand.verify(reference), &card)
            try block(PIVCommand.resetRetryCounter(reference), &card)
            let response = try send(PIVCommand.reset, &card)
            guard response.status.isSuccess else {
                throw TokenError(
                    TokenError(response.status, "reset the card").code,
                    "the card's PIN and PUK are blocked now, but it does not reset itself (try again)",
                    status: response.status)
            }
        }
        for slot in PIVSlot.allCases { forgetRemembered(slot) }
        forgetPINs(&card)
        // The card may have been known by what it had. What it refused as a blank card is forgotten as well.
        knowledge = Knowledge(metadataSupport: knowledge.metadataSupport, attests: quirks.has(.mayAttest))
        forgetPINs(&card)
    }

    /// Sends VERIFY or RESET RETRY COUNTER with random digits until no try is left.
    private mutating func block(_ header: CommandAPDU, _ card: inout CardTransaction) throws(TokenError) {
        let isVerification = header.ins == PIVCommand.verify(.application).ins
        // Once in a hundred million times the digits are the right ones, and all tries are there again.
        for _ in 0...2 * Int(UInt8.max) {
            let digits: [UInt8]
            do { digits = try RandomBytes.make(count: PINBlock.length).map { 0x30 + $0 % 10 } } catch {
                throw TokenError(.storage, "there are no random digits: \(error)")
            }
            let wrong = Secret(copying: digits.span)
            let value = isVerification ? wrong : PINBlock.pair(wrong, wrong)
            let status = try send(header, secret: value, &card).status
            if status == .authenticationMethodBlocked || status.triesLeft == 0 { return }
            guard status.isWrongPIN || status.isSuccess else { throw TokenError(status, "block the PIN for a reset") }
        }
    }

    // MARK: Attestation

    public mutating func attestation(
        of key: TokenObjectID, _ card: inout CardTransaction
    ) throws(TokenError) -> [[UInt8]] {
        let slot = try requireSlot(key)
        let response = try send(PIVCommand.attest(slot), limit: slot.container.sizeLimit, &card)
        guard response.status.isSuccess else {
            switch response.status {
            case .incorrectData, .referenceNotFound, .objectNotFound, .incorrectParameters:
                throw TokenError(
                    .notFound, "the card attests only to keys that it has made itself, and \(key) has none",
                    status: response.status)
            default: throw TokenError(response.status, "attest to the key")
            }
        }
        let signer =
            try readable { (token) throws(TokenError) in
                try token.read(.attestationCertificate, &card).flatMap { (content) throws(TokenError) in
                    try CertificateObject.parse(content)?.certificate
                }
            } ?? nil
        return [response.data] + (signer.map { [$0] } ?? [])
    }
}
