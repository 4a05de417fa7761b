internal import CryptokiNames
internal import PKCS11Mechanisms
internal import CCryptoki
package import SecureBytes
internal import SystemCrypto
package import Wire

/// The answer to a call, and the secrets of its message.
package struct CallResult: ~Copyable {
    package var answer: PKCS11Answer
    package var secrets: Secret
    /// The failure behind the return value.
    var failure: CryptokiError?

    init(_ answer: PKCS11Answer, _ secrets: consuming Secret = Secret(capacity: 0) { _ in }) {
        self.answer = answer
        self.secrets = secrets
    }

    init(_ numbers: [CK_ULONG] = [], text: [UInt8] = []) {
        self.init(PKCS11Answer(UInt64(CKR_OK), numbers: numbers.map(UInt64.init), text: text))
    }

    init(failing failure: CryptokiError) {
        self.init(PKCS11Answer(UInt64(failure.code)))
        self.failure = failure
    }

    package consuming func takeSecrets() -> Secret { secrets }
}

extension Cryptoki {
    /// Answers a call as the function of the standard does. A failure is an answer too.
    ///
    /// - Parameter secrets: the secrets of the call's message.
    package func result(of call: PKCS11Call, secrets: consuming Secret) -> CallResult {
        var reader = SecretReader(secrets)
        var result: CallResult
        do throws(CryptokiError) {
            result = try self.result(of: call, &reader)
        } catch {
            result = CallResult(failing: error)
        }
        let code = CK_RV(result.answer.returnValue)
        let failure = result.failure ?? CryptokiError(code)
        result.answer.notes = log.take(ending: code == CKR_OK ? "CKR_OK" : failure.description)
        return result
    }

    private func result(of call: PKCS11Call, _ secrets: inout SecretReader) throws(CryptokiError) -> CallResult {
        let arguments = CallArguments(call)
        switch call.function {
        case .finalize:
            finalize()
            return CallResult()
        case .getSlotList, .getSlotInfo, .getTokenInfo, .getMechanismList, .getMechanismInfo, .waitForSlotEvent:
            return try slotResult(of: arguments)
        case .openSession, .closeSession, .closeAllSessions, .getSessionInfo, .sessionCancel, .login, .logout, .initPIN,
            .setPIN,
            .getFunctionStatus:
            return try sessionResult(of: arguments, &secrets)
        case .createObject, .copyObject, .destroyObject, .getObjectSize, .getAttributeValue, .setAttributeValue,
            .findObjectsInit, .findObjects, .findObjectsFinal:
            return try objectResult(of: arguments, &secrets)
        case .generateKey, .generateKeyPair, .wrapKey, .unwrapKey, .deriveKey, .seedRandom, .generateRandom:
            return try keyResult(of: arguments, &secrets)
        case .encryptInit, .encrypt, .encryptUpdate, .encryptFinal, .decryptInit, .decrypt, .decryptUpdate,
            .decryptFinal,
            .digestInit, .digest, .digestUpdate, .digestKey, .digestFinal, .signInit, .sign, .signUpdate, .signFinal,
            .verifyInit,
            .verify, .verifyUpdate, .verifyFinal:
            return try operationResult(of: arguments, &secrets)
        }
    }

    // MARK: Slots

    private func slotResult(of call: CallArguments) throws(CryptokiError) -> CallResult {
        let first = try call.number(0)
        switch call.function {
        case .getSlotList:
            return CallResult(slotList(withToken: first != 0, refreshing: try call.number(1) != 0))
        case .getSlotInfo:
            let slot = try slotInfo(first)
            return CallResult(
                [slot.flags], text: blankPadded(slot.name.description, 64) + blankPadded(slot.name.manufacturer, 32))
        case .getTokenInfo:
            let token = try tokenInfo(first)
            let sessions = sessionCounts(first)
            let text = [
                blankPadded(token.name.label, 32), blankPadded(token.name.manufacturer, 32),
                blankPadded(token.name.model, 16), blankPadded(token.name.serialNumber, 16),
            ]
            return CallResult(
                [
                    token.flags, CK_ULONG(sessions.all), CK_ULONG(sessions.writable),
                    CK_ULONG(token.pinLengths.lowerBound), CK_ULONG(token.pinLengths.upperBound),
                    CK_ULONG(token.firmware.major), CK_ULONG(token.firmware.minor),
                ], text: Array(text.joined()))
        case .getMechanismList: return CallResult(try mechanisms(first).map(\.type))
        case .getMechanismInfo:
            let mechanism = try mechanism(try call.number(1), of: first)
            return CallResult([
                CK_ULONG(mechanism.keySizes?.lowerBound ?? 0), CK_ULONG(mechanism.keySizes?.upperBound ?? 0),
                mechanism.flags,
            ])
        default: return CallResult([try waitForSlotEvent(blocking: first & CKF_DONT_BLOCK == 0)])
        }
    }

    /// The text of a structure's field, padded with blanks. PKCS #11 §3.1.
    private func blankPadded(_ text: String, _ count: Int) -> [UInt8] {
        let bytes = Array(CryptokiText.cut(text, to: count).utf8)
        return bytes + Array(repeating: UInt8(ascii: " "), count: count - bytes.count)
    }

    // MARK: Sessions

    private func sessionResult(
        of call: CallArguments, _ secrets: inout SecretReader
    ) throws(CryptokiError) -> CallResult {
        let session = try call.number(0)
        switch call.function {
        case .openSession: return CallResult([try openSession(session, flags: try call.number(1))])
        case .closeSession: try closeSession(session)
        case .closeAllSessions: try closeAllSessions(session)
        case .getSessionInfo:
            let information = try sessionInfo(session)
            return CallResult([information.slot, information.state, information.flags])
        case .sessionCancel: try cancel(session, flags: try call.number(1))
        case .login:
            let pin = try secrets.optionalSecret(UInt64(call.number(2)))
            try logIn(session, try call.number(1), pin: pin)
        case .logout: try logOut(session)
        case .initPIN: try initPIN(session, secrets.optionalSecret(UInt64(call.number(1))))
        case .setPIN:
            let old = try secrets.optionalSecret(UInt64(call.number(1)))
            try setPIN(session, from: old, to: secrets.optionalSecret(UInt64(call.number(2))))
        default:
            try requireSession(session)
            throw CryptokiError(CKR_FUNCTION_NOT_PARALLEL)
        }
        return CallResult()
    }

    // MARK: Keys

    private func keyResult(of call: CallArguments, _ secrets: inout SecretReader) throws(CryptokiError) -> CallResult {
        let session = try call.number(0)
        switch call.function {
        case .generateKey:
            let template = try secrets.template(call.template(0))
            return CallResult([try generateKey(session, try call.mechanism(), template)])
        case .generateKeyPair:
            let publicTemplate = try secrets.template(call.template(0))
            let pair = try generateKeyPair(
                session, try call.mechanism(), publicTemplate, secrets.template(call.template(1)))
            return CallResult([pair.publicKey, pair.privateKey])
        case .wrapKey:
            return try CallResult(
                wrapKey(session, call.mechanism(), wrapping: call.number(1), key: call.number(2), call.capacity(3)),
                call.capacity(3))
        case .unwrapKey:
            let wrapped = try secrets.bytes(UInt64(call.number(2)))
            let template = try secrets.template(call.template(0))
            return CallResult([
                try unwrapKey(session, call.mechanism(), unwrapping: call.number(1), wrapped, template)
            ])
        case .deriveKey:
            let template = try secrets.template(call.template(0))
            return CallResult([try deriveKey(session, call.mechanism(), base: call.number(1), template)])
        case .seedRandom:
            try requireSession(session)
            guard try call.number(1) == 1 else { throw CryptokiError(CKR_ARGUMENTS_BAD) }
            throw CryptokiError(CKR_RANDOM_SEED_NOT_SUPPORTED)
        default:
            let count = try call.number(1)
            guard count <= CK_ULONG(FrameHeader.maximumSecrets) else { throw SecretReader.malformed }
            return CallResult(PKCS11Answer(UInt64(CKR_OK)), try random(session, count: Int(count)))
        }
    }
}

/// The arguments of a call. They are not trusted, since any program may be the client.
struct CallArguments {
    private let call: PKCS11Call

    init(_ call: PKCS11Call) {
        self.call = call
    }

    var function: PKCS11Function { call.function }

    var numbers: [UInt64] { call.numbers }

    var isBeforeData: Bool { call.isBeforeData }

    /// - Throws: `CKR_GENERAL_ERROR` where it is missing.
    func number(_ index: Int) throws(CryptokiError) -> CK_ULONG {
        guard index < call.numbers.count else { throw SecretReader.malformed }
        return CK_ULONG(call.numbers[index])
    }

    /// A number of bytes, clamped to the range of `Int`.
    func count(_ index: Int) throws(CryptokiError) -> Int { min(Int(clamping: try number(index)), Int.max / 4) }

    func capacity(_ index: Int) throws(CryptokiError) -> OutputCapacity {
        let count = try number(index)
        return UInt64(count) == PKCS11Call.null ? .query : .bytes(Int(clamping: count))
    }

    func template(_ index: Int) throws(CryptokiError) -> [PKCS11Attribute] {
        guard index < call.templates.count else { throw SecretReader.malformed }
        return call.templates[index]
    }

    var hasMechanism: Bool { call.mechanism != nil }

    /// - Throws: `CKR_ARGUMENTS_BAD`, `CKR_MECHANISM_PARAM_INVALID`.
    func mechanism() throws(CryptokiError) -> MechanismRequest {
        guard let mechanism = call.mechanism else { throw CryptokiError(CKR_ARGUMENTS_BAD) }
        return try MechanismRequest(mechanism)
    }
}

extension MechanismRequest {
    /// - Throws: `CKR_MECHANISM_PARAM_INVALID`.
    package init(_ mechanism: PKCS11Mechanism) throws(CryptokiError) {
        let type = CK_MECHANISM_TYPE(mechanism.type)
        guard case .structure(let numbers, let strings) = mechanism.parameter else {
            self.init(type, mechanism.parameter == .none ? .none : .bytes([]))
            return
        }
        switch (MechanismTable.use(of: type, for: .max), numbers.count, strings.count) {
        case (.pss, 3, 0):
            self.init(
                type, .pss(hash: CK_ULONG(numbers[0]), mgf: CK_ULONG(numbers[1]), saltLength: CK_ULONG(numbers[2])))
        case (.oaep, 3, 1):
            let (source, label) = (CK_ULONG(numbers[2]), strings[0])
            // Some programs give 0 where there is no label.
            guard source == CKZ_DATA_SPECIFIED || source == 0 && label.isEmpty else {
                throw CryptokiError(CKR_MECHANISM_PARAM_INVALID, "an unknown source of the label")
            }
            self.init(type, .oaep(hash: CK_ULONG(numbers[0]), mgf: CK_ULONG(numbers[1]), label: label))
        case (.keyExchange, 1, 2):
            self.init(type, .agreement(kdf: CK_ULONG(numbers[0]), sharedInfo: strings[0], publicData: strings[1]))
        case (.cipher(.ctr), 1, 1): self.init(type, .counter(bits: CK_ULONG(numbers[0]), block: strings[0]))
        // The nonce's length in bytes counts. Many programs leave out the field with its length in bits.
        case (.cipher(.gcm), 2, 2):
            self.init(type, .gcm(nonce: strings[0], associatedData: strings[1], tagBits: CK_ULONG(numbers[1])))
        case (.hmac, 1, 0): self.init(type, .codeLength(CK_ULONG(numbers[0])))
        default: self.init(type, .bytes(strings.first ?? []))
        }
    }
}
