internal import CCryptoki
internal import SecureBytes
internal import Synchronization
internal import Wire

// Calls about objects and operations with keys. PKCS #11 §5.7 to §5.14.
extension Cryptoki {
    func objectResult(of call: CallArguments, _ secrets: inout SecretReader) throws(CryptokiError) -> CallResult {
        let session = try call.number(0)
        switch call.function {
        case .createObject: return CallResult([try createObject(session, secrets.template(call.template(0)))])
        case .copyObject:
            return CallResult([try copyObject(session, call.number(1), secrets.template(call.template(0)))])
        case .destroyObject: try destroyObject(session, try call.number(1))
        case .getObjectSize: return CallResult([CK_ULONG(try objectSize(call.number(1), in: session))])
        case .getAttributeValue: return try attributes(of: call)
        case .setAttributeValue:
            try setAttributes(session, try call.number(1), to: secrets.template(call.template(0)))
        case .findObjectsInit: try findObjectsInit(session, secrets.template(call.template(0)))
        case .findObjects: return CallResult(try findObjects(session, limit: Int(clamping: call.number(1))))
        default: try findObjectsFinal(session)
        }
        return CallResult()
    }

    /// Gives every attribute that can be told; of several failures the first is returned. PKCS #11 §5.7.5.
    private func attributes(of call: CallArguments) throws(CryptokiError) -> CallResult {
        let reader = try reader(of: call.number(1), in: call.number(0))
        let wanted = call.numbers.dropFirst(2)
        guard !wanted.isEmpty, wanted.count <= 2 * PKCS11Call.maximumAttributes, wanted.count.isMultiple(of: 2) else {
            throw CryptokiError(CKR_ARGUMENTS_BAD)
        }
        var lengths: [UInt64] = []
        var values = Secret(capacity: 0) { _ in }
        var failure: CryptokiError?
        for index in stride(from: wanted.startIndex, to: wanted.endIndex, by: 2) {
            let (type, capacity) = (CK_ATTRIBUTE_TYPE(wanted[index]), wanted[index + 1])
            do throws(CryptokiError) {
                let value = try reader.secret(type)
                guard capacity == PKCS11Call.null || UInt64(value.count) <= capacity else {
                    throw CryptokiError(CKR_BUFFER_TOO_SMALL)
                }
                lengths.append(UInt64(value.count))
                guard capacity != PKCS11Call.null else { continue }
                guard values.count + value.count <= FrameHeader.maximumSecrets else {
                    throw CryptokiError(CKR_HOST_MEMORY, "the values are longer than a message")
                }
                values = Secret(joining: values.bytes, value.bytes)
            } catch {
                if error.code == CKR_HOST_MEMORY { throw error }
                lengths.append(PKCS11Call.null)
                failure = failure ?? error
            }
        }
        var result = CallResult(PKCS11Answer(UInt64(failure?.code ?? CKR_OK), numbers: lengths), values)
        result.failure = failure
        result.answer.text = reader.attributeList(atMost: Cryptoki.attributesInAdvance)
        return result
    }

    /// The most bytes of an object's attributes that are sent with the first one that is asked for.
    private static let attributesInAdvance = 16 << 10

    // MARK: Operations

    func operationResult(of call: CallArguments, _ secrets: inout SecretReader) throws(CryptokiError) -> CallResult {
        let session = try call.number(0)
        switch call.function {
        case .encryptInit, .decryptInit, .digestInit, .verifyInit: try begin(call)
        case .signInit:
            try begin(call)
            return CallResult([try canBeginLater(call) ? 1 : 0])
        case .encrypt:
            if let length = try lengthBeforeData(call) { return length }
            let (count, capacity) = (try call.count(1), try call.capacity(2))
            return try CallResult(encrypt(session, secrets.rest(), capacity, of: count), capacity)
        case .encryptUpdate:
            let (count, capacity) = (try call.count(1), try call.capacity(2))
            return try CallResult(encryptUpdate(session, secrets.rest(), capacity, of: count), capacity)
        case .encryptFinal: return try CallResult(encryptFinal(session, call.capacity(1)), call.capacity(1))
        case .decrypt:
            if let length = try lengthBeforeData(call) { return length }
            let (count, capacity) = (try call.count(1), try call.capacity(2))
            return try CallResult(decrypt(session, secrets.restAsBytes(), capacity, of: count), capacity)
        case .decryptUpdate:
            let (count, capacity) = (try call.count(1), try call.capacity(2))
            return try CallResult(decryptUpdate(session, secrets.restAsBytes(), capacity, of: count), capacity)
        case .decryptFinal: return try CallResult(decryptFinal(session, call.capacity(1)), call.capacity(1))
        case .digest:
            if let length = try lengthBeforeData(call) { return length }
            return try CallResult(digest(session, secrets.restAsBytes(), call.capacity(2)), call.capacity(2))
        case .digestUpdate: try digestUpdate(session, secrets.restAsBytes())
        case .digestKey: try digestKey(session, key: call.number(1))
        case .digestFinal: return try CallResult(digestFinal(session, call.capacity(1)), call.capacity(1))
        case .sign:
            if call.hasMechanism { try beginLate(call) }
            if let length = try lengthBeforeData(call) { return length }
            return try CallResult(sign(session, secrets.restAsBytes(), call.capacity(2)), call.capacity(2))
        case .signUpdate: try signUpdate(session, secrets.restAsBytes())
        case .signFinal: return try CallResult(signFinal(session, call.capacity(1)), call.capacity(1))
        case .verify:
            if let length = try lengthBeforeData(call) { return length }
            let data = try secrets.bytes(UInt64(call.number(1)))
            try verify(session, data, signature: secrets.bytes(UInt64(call.number(2))))
        case .verifyUpdate: try verifyUpdate(session, secrets.restAsBytes())
        default: try verifyFinal(session, signature: secrets.restAsBytes())
        }
        return CallResult()
    }

    /// Begins an operation, or without a mechanism ends the present one.
    private func begin(_ call: CallArguments) throws(CryptokiError) {
        let (session, key) = (try call.number(0), try call.number(1))
        guard call.hasMechanism else {
            let flag =
                switch call.function {
                case .encryptInit: CKF_ENCRYPT
                case .decryptInit: CKF_DECRYPT
                case .digestInit: CKF_DIGEST
                case .signInit: CKF_SIGN
                default: CKF_VERIFY
                }
            return try cancelBegun(session, flag)
        }
        let request = try call.mechanism()
        switch call.function {
        case .encryptInit: try encryptInit(session, request, key: key)
        case .decryptInit: try decryptInit(session, request, key: key)
        case .digestInit: try digestInit(session, request)
        case .signInit: try signInit(session, request, key: key)
        default: try verifyInit(session, request, key: key)
        }
    }

    /// Whether the module may send a further `C_SignInit` with the same arguments together with `C_Sign`. Keys with
    /// `CKA_ALWAYS_AUTHENTICATE` are excluded: programs call `C_Login` between the two.
    private func canBeginLater(_ call: CallArguments) throws(CryptokiError) -> Bool {
        guard call.hasMechanism else { return false }
        let key = try self.key(try call.number(1), in: try session(call.number(0)))
        return !key.isTrue(CKA_ALWAYS_AUTHENTICATE)
    }

    /// Begins a signature whose `C_SignInit` the module has answered and sent with the data.
    ///
    /// - Throws: only return values of `C_Sign`. PKCS #11 §5.13.2.
    private func beginLate(_ call: CallArguments) throws(CryptokiError) {
        do throws(CryptokiError) {
            try signInit(call.number(0), call.mechanism(), key: call.number(3))
        } catch {
            switch error.code {
            case CKR_KEY_HANDLE_INVALID, CKR_KEY_FUNCTION_NOT_PERMITTED, CKR_KEY_SIZE_RANGE, CKR_KEY_TYPE_INCONSISTENT,
                CKR_MECHANISM_INVALID, CKR_MECHANISM_PARAM_INVALID, CKR_OPERATION_ACTIVE:
                throw CryptokiError(CKR_OPERATION_NOT_INITIALIZED, error.reason)
            default: throw error
            }
        }
    }

    /// The function's answer before data that follows in parts.
    ///
    /// - Returns: nil where the call has the data itself.
    private func lengthBeforeData(_ call: CallArguments) throws(CryptokiError) -> CallResult? {
        guard call.isBeforeData else { return nil }
        let length = try outputLength(of: call.function, call.count(1), in: call.number(0))
        let capacity = call.function == .verify ? nil : try call.capacity(2)
        guard capacity?.holds(length) ?? true else {
            return CallResult(.length(length), try call.capacity(2))
        }
        return CallResult([CK_ULONG(length)])
    }

    /// The maximum output length of a function that takes its data at once. The parts that follow belong to this one call.
    ///
    /// - Parameter count: the length of the data.
    /// - Throws: `CKR_OPERATION_NOT_INITIALIZED`; `CKR_OPERATION_ACTIVE` where a part has come already, which ends the operation.
    private func outputLength(
        of function: PKCS11Function, _ count: Int, in handle: CK_SESSION_HANDLE
    ) throws(CryptokiError) -> Int {
        try session(handle).state.withLock { state throws(CryptokiError) -> Int in
            switch function {
            case .encrypt:
                guard var operation = state.encryption.take() else { throw Cryptoki.notBegun }
                try operation.course.beginOne()
                let length = operation.outputLength(ofRest: count)
                state.encryption = consume operation
                return length
            case .decrypt:
                guard var operation = state.decryption.take() else { throw Cryptoki.notBegun }
                try operation.course.beginOne()
                let length = operation.outputLength(ofRest: count)
                state.decryption = consume operation
                return length
            case .digest:
                guard var input = state.digest.take() else { throw Cryptoki.notBegun }
                try input.course.beginOne()
                let length = input.digestLength
                state.digest = consume input
                return length
            case .sign:
                guard var operation = state.signature.take() else { throw Cryptoki.notBegun }
                try operation.input.course.beginOne()
                let length = operation.scheme.length
                state.signature = consume operation
                return length
            default:
                guard var operation = state.verification.take() else { throw Cryptoki.notBegun }
                try operation.input.course.beginOne()
                state.verification = consume operation
                return 0
            }
        }
    }
}

extension CallResult {
    /// Answers with output, or with the length that it needs: the rules for a program's buffer, PKCS #11 §5.2.
    init(_ output: consuming Output, _ capacity: OutputCapacity) {
        switch consume output {
        case .bytes(var bytes):
            let count = UInt64(bytes.count)
            self.init(PKCS11Answer(UInt64(CKR_OK), numbers: [count]), Secret(consuming: &bytes))
        case .secret(let secret):
            let count = UInt64(secret.count)
            self.init(PKCS11Answer(UInt64(CKR_OK), numbers: [count]), secret)
        case .length(let needed):
            let code = if case .query = capacity { CKR_OK } else { CKR_BUFFER_TOO_SMALL }
            self.init(PKCS11Answer(UInt64(code), numbers: [UInt64(needed)]))
        }
    }
}

extension Cryptoki.ObjectReader {
    /// The object's attributes that are not secret, each after its type and its length; empty where they are longer than `limit`.
    fileprivate func attributeList(atMost limit: Int) -> [UInt8] {
        let attributes = entry.object.attributes
        guard attributes.values.reduce(0, { $0 + $1.count + 12 }) <= limit else { return [] }
        var list = FieldWriter()
        for (type, value) in attributes {
            list.append(UInt64(type))
            list.append(value)
        }
        return list.bytes
    }

    /// The value of an attribute, in memory that is wiped.
    ///
    /// - Throws: the object's refusal.
    fileprivate func secret(_ type: CK_ATTRIBUTE_TYPE) throws(CryptokiError) -> Secret {
        switch try value(type) {
        case .value(let bytes): return Secret(copying: bytes.span)
        case .secret(let secret): return secret
        case .refused(let code): throw CryptokiError(code, "attribute 0x\(String(type, radix: 16))")
        }
    }
}
