internal import SecureBytes
internal import SystemCrypto
public import TokenKit

// Authentication with the management key. SP 800-73-5 part 2 §3.2.4 and appendix A.1 and A.2.
extension PIVToken {
    public mutating func managementKey(_ card: inout CardTransaction) throws(TokenError) -> ManagementKeyStatus {
        let metadata = try managementKeyMetadata(&card)
        let firmware = try firmware(&card)
        let kept = try readable { (token) throws(TokenError) in try token.administrativeData(&card) }?
            .keepsManagementKey
        let isYubico = quirks.has(.keysByVersion)
        let takesAES = isYubico ? firmware.map { $0 >= Firmware(5, 4, 2) } ?? false : !announcedCiphers.isEmpty
        let ciphers: [BlockCipher] =
            isYubico && takesAES ? [.aes256, .aes192, .aes128, .tripleDES] : announcedCiphers + [.tripleDES]
        return ManagementKeyStatus(
            cipher: metadata?.cipher, isDefault: metadata?.isDefault, touch: metadata?.touch ?? .unknown,
            isKeptOnToken: kept ?? false, ciphers: ciphers,
            keyPlaces: (PIVSlot.primary + PIVSlot.retired).map {
                KeyPlace($0.objectID, for: $0.use, cryptokiID: $0.cryptokiID)
            },
            movesKeys: firmware.map { $0 >= PIVToken.firstThatMovesKeys } ?? false,
            weakKeys: try advisories(&card).flatMap(\.algorithms).compactMap(\.keyKind))
    }

    private var announcedCiphers: [BlockCipher] {
        [BlockCipher.aes256, .aes192, .aes128].filter {
            application.algorithms.contains(ManagementKey.algorithm($0))
        }
    }

    /// Proves to the card that its management key is known. A PIN is presented first, where there is one.
    mutating func authorize(
        _ administrator: borrowing TokenAdministrator, _ card: inout CardTransaction
    ) throws(TokenError) {
        if let lastTry = administrator.lastTry {
            try administrator.withPIN { (pin) throws(TokenError) in
                try verify(pin, lastTry: lastTry, &card)
            }
        }
        try confirmSelection(&card)
        let metadata = try managementKeyMetadata(&card)
        let touch = metadata?.touch ?? .unknown
        // As for keys that wait for a touch: the transaction shows other programs that the card is held.
        if touch.mayWait { do { try card.hold() } catch { throw TokenError(error) } }
        let end = touch.mayWait ? administrator.touchNotice?() : nil
        defer { end?() }
        do throws(TokenError) {
            switch administrator.key {
            case .factory: try authenticate(ManagementKey.factory, metadata, &card)
            case .value(let key): try authenticate(key, metadata, &card)
            case .onToken: try authenticateWithKeptKey(metadata, &card)
            }
        } catch {
            guard touch.mayWait, error.code == .notAuthorized, error.status == .securityStatusNotSatisfied else {
                throw error
            }
            // The card answers the same for a wrong key and for a missing touch.
            let isRight: Bool
            switch administrator.key {
            case .factory: isRight = metadata?.isDefault == true
            case .onToken: isRight = true
            case .value: isRight = false
            }
            guard isRight else {
                throw TokenError(
                    .notAuthorized,
                    "wrong management key, or the touch that it waits for did not come (give the right key, and touch the card when it blinks)",
                    status: error.status)
            }
            throw TokenError(
                .conditionsNotSatisfied, "the management key waited for a touch that did not come",
                status: error.status)
        }
    }

    private mutating func authenticateWithKeptKey(
        _ metadata: ManagementKeyMetadata?, _ card: inout CardTransaction
    ) throws(TokenError) {
        let kept = try keptManagementKey(&card)
        switch kept.key {
        case .none:
            throw TokenError(.notAuthorized, "the card does not keep its management key (give it yourself)")
        case .some(let key):
            do throws(TokenError) {
                try authenticate(key, metadata, &card)
            } catch {
                // A change of the key was interrupted.
                guard error.code == .notAuthorized else { throw error }
                switch kept.next {
                case .some(let next): try authenticate(next, metadata, &card)
                case .none: throw error
                }
            }
        }
    }

    /// The management key that the card gives to whoever has presented the PIN.
    mutating func keptManagementKey(_ card: inout CardTransaction) throws(TokenError) -> KeptManagementKey {
        var command = PIVCommand.getData(.printedInformation)
        command.confidentiality = .response
        let response = try send(command, limit: PIVContainer.printedInformation.sizeLimit + 8, &card)
        var data = try found(response, in: .printedInformation) ?? []
        defer { data.wipe() }
        return try KeptManagementKey(parsing: data.span)
    }

    mutating func administrativeData(_ card: inout CardTransaction) throws(TokenError) -> AdministrativeData {
        try AdministrativeData(parsing: read(.administrativeData, &card))
    }

    private mutating func authenticate(
        _ key: borrowing Secret, _ metadata: ManagementKeyMetadata?, _ card: inout CardTransaction
    ) throws(TokenError) {
        let told = metadata?.cipher
        if let told, told.keyLength != key.count {
            throw TokenError(
                .notAuthorized,
                "this card's management key has \(told.keyLength) bytes (\(ManagementKey.algorithm(told))), and not \(key.count)"
            )
        }
        for cipher in told.map({ [$0] }) ?? ManagementKey.ciphers(ofKeyWith: key.count) {
            if try authenticate(key, cipher, &card) { return }
        }
        throw TokenError(.notAuthorized, "the card has no management key of \(key.count) bytes")
    }

    /// Has the card and this program prove to each other that they have the key; where the card does not do that, this program alone.
    ///
    /// - Returns: false where the card's key is for another cipher.
    private mutating func authenticate(
        _ key: borrowing Secret, _ cipher: BlockCipher, _ card: inout CardTransaction
    ) throws(TokenError) -> Bool {
        let first = try send(PIVCommand.authenticate(cipher, [TLV(0x80, [UInt8]())]), &card)
        guard first.status.isSuccess, let witness = Self.field(0x80, of: first, cipher) else {
            return try authenticateAlone(key, cipher, &card)
        }
        let (proof, expected): ([TLV], [UInt8])
        do throws(CryptoError) {
            let challenge = try RandomBytes.make(count: cipher.blockLength)
            proof = [TLV(0x80, try cipher.decrypt(witness, key: key)), TLV(0x81, challenge)]
            expected = try cipher.encrypt(challenge, key: key)
        } catch {
            throw TokenError(.notAuthorized, "the management key cannot be used: \(error)")
        }
        let response = try send(PIVCommand.authenticate(cipher, proof), &card)
        guard response.status.isSuccess else { throw TokenError.wrongManagementKey(response.status) }
        guard Self.field(0x82, of: response, cipher) == expected else {
            throw TokenError(.notProven, "the card does not prove that it has the management key")
        }
        return true
    }

    private mutating func authenticateAlone(
        _ key: borrowing Secret, _ cipher: BlockCipher, _ card: inout CardTransaction
    ) throws(TokenError) -> Bool {
        let first = try send(PIVCommand.authenticate(cipher, [TLV(0x81, [UInt8]())]), &card)
        guard first.status.isSuccess, let challenge = Self.field(0x81, of: first, cipher) else { return false }
        let answer: [UInt8]
        do { answer = try cipher.encrypt(challenge, key: key) } catch {
            throw TokenError(.notAuthorized, "the management key cannot be used: \(error)")
        }
        let response = try send(PIVCommand.authenticate(cipher, [TLV(0x82, answer)]), &card)
        guard response.status.isSuccess else { throw TokenError.wrongManagementKey(response.status) }
        return true
    }

    /// A field of a block's length in an answer to GENERAL AUTHENTICATE.
    private static func field(_ tag: TLVTag, of response: ResponseAPDU, _ cipher: BlockCipher) -> [UInt8]? {
        guard var template = try? TLVReader.only(0x7C, in: response.data).children(),
            let value = try? template.fields()[tag], value.count == cipher.blockLength
        else { return nil }
        return value
    }
}

extension TokenError {
    fileprivate static func wrongManagementKey(_ status: StatusWord) -> TokenError {
        if status == .conditionsNotSatisfied {
            return TokenError(.conditionsNotSatisfied, "the card was not touched in time", status: status)
        }
        let left = status.triesLeft.map { PINKind.remark(triesLeft: $0) } ?? ""
        return TokenError(.notAuthorized, "wrong management key\(left)", triesLeft: status.triesLeft, status: status)
    }
}
