internal import CCryptoki

/// The functions of an operation that takes data and may return some: for data all at once, and for data in parts.
///
/// A message has room for the data that most programs sign at once. Longer data is sent in parts, after the host has confirmed
/// that the data can be given in one call, so that a call that must fail has no effect.
struct Operation {
    let whole: PKCS11Function
    let part: PKCS11Function
    let last: PKCS11Function
    /// The flag of the operation in `C_SessionCancel`.
    let flag: CK_FLAGS

    static let encrypt = Operation(
        whole: .encrypt, part: .encryptUpdate, last: .encryptFinal, flag: CKF_ENCRYPT)
    static let decrypt = Operation(
        whole: .decrypt, part: .decryptUpdate, last: .decryptFinal, flag: CKF_DECRYPT)
    static let digest = Operation(whole: .digest, part: .digestUpdate, last: .digestFinal, flag: CKF_DIGEST)
    static let sign = Operation(whole: .sign, part: .signUpdate, last: .signFinal, flag: CKF_SIGN)
    static let verify = Operation(whole: .verify, part: .verifyUpdate, last: .verifyFinal, flag: CKF_VERIFY)

    /// Bytes of data in one message.
    static let longestPart: CK_ULONG = 1 << 20

    /// The most bytes that one argument may have.
    private static let longestInput: CK_ULONG = 1 << 30

    private static func takes(_ data: UnsafeMutablePointer<UInt8>?, _ count: CK_ULONG) -> Bool {
        unsafe count == 0 || data != nil && count <= longestInput
    }

    /// `C_Sign` and its kin: data in, output out.
    func perform(
        _ session: CK_SESSION_HANDLE, _ data: UnsafeMutablePointer<UInt8>?, _ dataLength: CK_ULONG,
        _ output: UnsafeMutablePointer<UInt8>?, _ outputLength: UnsafeMutablePointer<CK_ULONG>?,
        _ context: inout CallContext
    ) throws(Failure) {
        guard unsafe Operation.takes(data, dataLength), unsafe outputLength != nil else {
            throw refused(session, context)
        }
        let call = PKCS11Call(whole, [UInt64(session), UInt64(dataLength)])
        // The output's length is asked for without sending the data.
        guard unsafe output != nil else {
            return try unsafe call.output(output, outputLength, &context)
        }
        guard dataLength > Operation.longestPart else {
            return try unsafe call.output(output, outputLength, &context, sending: Secrets(data, dataLength))
        }
        let room = unsafe outputLength?.pointee ?? 0
        try unsafe begin(session, dataLength, room, outputLength, &context)
        var written: CK_ULONG = 0
        if givesParts {
            written = try unsafe send(session, data, dataLength, to: output, room, &context)
        } else {
            try unsafe append(session, data, dataLength, &context)
        }
        var rest = room - written
        try unsafe PKCS11Call(last, [UInt64(session)]).output(output.map { unsafe $0 + Int(written) }, &rest, &context)
        unsafe outputLength?.pointee = written + rest
    }

    /// Whether there is output before the end.
    private var givesParts: Bool { flag == CKF_ENCRYPT || flag == CKF_DECRYPT }

    /// Sends data in parts, and appends the output of each to the buffer. Parts are whole blocks of every cipher, so that there
    /// is never more output than input sent, and both may share one buffer.
    ///
    /// - Returns: the number of output bytes.
    private func send(
        _ session: CK_SESSION_HANDLE, _ data: UnsafeMutablePointer<UInt8>?, _ count: CK_ULONG,
        to output: UnsafeMutablePointer<UInt8>?, _ room: CK_ULONG, _ context: inout CallContext
    ) throws(Failure) -> CK_ULONG {
        var (sent, written): (CK_ULONG, CK_ULONG) = (0, 0)
        while sent < count {
            let length = min(count - sent, Operation.longestPart)
            var left = room - written
            try unsafe PKCS11Call(part, [UInt64(session), UInt64(length)]).output(
                output.map { unsafe $0 + Int(written) }, &left, &context,
                sending: Secrets(data.map { unsafe $0 + Int(sent) }, length))
            written += left
            sent += length
        }
        return written
    }

    /// `C_Verify`: data and a signature in.
    func check(
        _ session: CK_SESSION_HANDLE, _ data: UnsafeMutablePointer<UInt8>?, _ dataLength: CK_ULONG,
        _ signature: UnsafeMutablePointer<UInt8>?, _ signatureLength: CK_ULONG, _ context: inout CallContext
    ) throws(Failure) {
        guard unsafe Operation.takes(data, dataLength), unsafe Operation.takes(signature, signatureLength) else {
            throw refused(session, context)
        }
        guard dataLength > Operation.longestPart else {
            var secrets = try unsafe Secrets(data, dataLength)
            try unsafe secrets.append(signature, signatureLength)
            return try PKCS11Call(whole, [UInt64(session), UInt64(dataLength), UInt64(signatureLength)])
                .perform(&context, sending: secrets)
        }
        try unsafe begin(session, dataLength, 0, nil, &context)
        try unsafe append(session, data, dataLength, &context)
        try unsafe finish(session, checking: signature, signatureLength, &context)
    }

    /// `C_VerifyFinal`.
    func finish(
        _ session: CK_SESSION_HANDLE, checking signature: UnsafeMutablePointer<UInt8>?, _ signatureLength: CK_ULONG,
        _ context: inout CallContext
    ) throws(Failure) {
        guard unsafe Operation.takes(signature, signatureLength) else { throw refused(session, context) }
        try unsafe PKCS11Call(last, [UInt64(session)]).perform(
            &context, sending: Secrets(signature, signatureLength))
    }

    /// Ends the operation for arguments that are refused here: a function that fails for any reason ends its operation. PKCS #11
    /// §5.8 to §5.14.
    private func refused(_ session: CK_SESSION_HANDLE, _ context: borrowing CallContext) -> Failure {
        var own = CallContext(initialisation: context.initialisation, log: Log("C_SessionCancel"))
        try? PKCS11Call(.sessionCancel, [UInt64(session), UInt64(flag)]).perform(&own)
        return argumentsBad
    }

    /// Asks whether the data that follows can be given in one call.
    private func begin(
        _ session: CK_SESSION_HANDLE, _ count: CK_ULONG, _ room: CK_ULONG, _ length: UnsafeMutablePointer<CK_ULONG>?,
        _ context: inout CallContext
    ) throws(Failure) {
        let call = PKCS11Call(whole, [UInt64(session), UInt64(count), UInt64(room), PKCS11Call.dataFollows])
        let reply = try Reply.ask(call, &context)
        if reply.answer.returnValue == UInt64(CKR_BUFFER_TOO_SMALL) { unsafe length?.pointee = try reply.number(0) }
        try reply.requireSuccess()
    }

    /// `C_SignUpdate` and its kin, without output.
    func append(
        _ session: CK_SESSION_HANDLE, _ data: UnsafeMutablePointer<UInt8>?, _ count: CK_ULONG,
        _ context: inout CallContext
    ) throws(Failure) {
        guard unsafe Operation.takes(data, count) else { throw refused(session, context) }
        var sent: CK_ULONG = 0
        repeat {
            let length = min(count - sent, Operation.longestPart)
            try unsafe PKCS11Call(part, [UInt64(session)]).perform(
                &context, sending: Secrets(data.map { unsafe $0 + Int(sent) }, length))
            sent += length
        } while sent < count
    }

    /// `C_EncryptUpdate` and its kin, with output.
    func update(
        _ session: CK_SESSION_HANDLE, _ data: UnsafeMutablePointer<UInt8>?, _ dataLength: CK_ULONG,
        _ output: UnsafeMutablePointer<UInt8>?, _ outputLength: UnsafeMutablePointer<CK_ULONG>?,
        _ context: inout CallContext
    ) throws(Failure) {
        guard unsafe Operation.takes(data, dataLength), unsafe outputLength != nil else {
            throw refused(session, context)
        }
        let call = PKCS11Call(part, [UInt64(session), UInt64(dataLength)])
        guard unsafe output != nil else { return try unsafe call.output(output, outputLength, &context) }
        guard dataLength > Operation.longestPart else {
            return try unsafe call.output(output, outputLength, &context, sending: Secrets(data, dataLength))
        }
        // The room is checked before any data is sent.
        var needed: CK_ULONG = 0
        try unsafe call.output(nil, &needed, &context)
        let room = unsafe outputLength?.pointee ?? 0
        guard room >= needed else {
            unsafe outputLength?.pointee = needed
            throw Failure(CKR_BUFFER_TOO_SMALL)
        }
        unsafe outputLength?.pointee = try send(session, data, dataLength, to: output, room, &context)
    }

    /// `C_SignFinal` and its kin.
    func finish(
        _ session: CK_SESSION_HANDLE, _ output: UnsafeMutablePointer<UInt8>?,
        _ outputLength: UnsafeMutablePointer<CK_ULONG>?, _ context: inout CallContext
    ) throws(Failure) {
        guard unsafe outputLength != nil else { throw refused(session, context) }
        try unsafe PKCS11Call(last, [UInt64(session)]).output(output, outputLength, &context)
    }

    /// `C_SignInit` and its kin. A null mechanism ends the present operation.
    static func begin(
        _ function: PKCS11Function, _ session: CK_SESSION_HANDLE, _ given: UnsafeMutablePointer<CK_MECHANISM>?,
        _ key: CK_OBJECT_HANDLE, _ context: inout CallContext
    ) throws(Failure) {
        let mechanism = unsafe given == nil ? nil : try mechanism(given)
        let call = PKCS11Call(function, [UInt64(session), UInt64(key)], mechanism)
        guard function == .signInit else { return try call.perform(&context) }
        guard !BegunSignature.hold(call, context.initialisation) else { return }
        let changes = AttributeMemory.changes
        let reply = try Reply.ask(call, &context)
        try reply.requireSuccess()
        BegunSignature.keep(call, reply.answer, of: reply.host, context.initialisation, changes)
    }
}
