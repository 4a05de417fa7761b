internal import CCryptoki
internal import CPKCS11Module
internal import CThinClient

/// The arguments of the last `C_SignInit` that the host has accepted. A further call with the same arguments is answered here, and sent
/// together with the data of `C_Sign`: one message a signature in place of two.
///
/// `C_Sign` reports every failure that `C_SignInit` would have reported, such as a removed card. The host excludes keys with
/// `CKA_ALWAYS_AUTHENTICATE`, which need `C_Login` between the two calls.
enum BegunSignature {
    /// Holds back a call of `C_SignInit` whose arguments are the accepted ones.
    ///
    /// - Returns: false for other arguments: the caller sends the call.
    static func hold(_ call: PKCS11Call, _ initialisation: UInt64) -> Bool {
        guard let mechanism = call.mechanism?.encoded else { return false }
        return unsafe withMemory { memory in
            // The held call of another session is not sent yet, and must not be lost.
            guard unsafe !memory.pointee.isHeld(initialisation) || memory.pointee.session == call.numbers.first else {
                return false
            }
            let isKnown = unsafe memory.pointee.isOf(call, mechanism, initialisation)
            unsafe memory.pointee.is_held = isKnown ? 1 : 0
            if !isKnown { unsafe memory.pointee.mechanism_count = 0 }
            return isKnown
        }
    }

    /// Keeps the arguments of an accepted `C_SignInit`, unless the host's answer excludes the key.
    ///
    /// - Parameter changes: the value of ``AttributeMemory/changes`` before the host was asked.
    static func keep(
        _ call: PKCS11Call, _ answer: PKCS11Answer, of host: UInt64, _ initialisation: UInt64, _ changes: UInt64
    ) {
        guard answer.numbers == [1], call.numbers.count == 2,
            let mechanism = call.mechanism?.encoded, mechanism.count <= tokenkit_mechanism_limit
        else { return }
        unsafe withMemory { memory in
            // The held call of another thread must not be lost.
            guard unsafe !memory.pointee.isHeld(initialisation) else { return }
            unsafe memory.pointee = tokenkit_signature()
            unsafe memory.pointee.initialisation = initialisation
            unsafe memory.pointee.host = host
            unsafe memory.pointee.changes = changes
            unsafe memory.pointee.session = call.numbers[0]
            unsafe memory.pointee.key = call.numbers[1]
            unsafe memory.pointee.mechanism_count = Int32(mechanism.count)
            unsafe withUnsafeMutableBytes(of: &memory.pointee.mechanism) { bytes in
                for index in mechanism.indices { unsafe bytes[index] = mechanism[index] }
            }
        }
    }

    /// Takes the held `C_SignInit` of a session, which the caller sends before the session's next call, or with it, and before the end
    /// of all sessions.
    static func take(before call: PKCS11Call, _ initialisation: UInt64) -> PKCS11Call? {
        let endsAll = call.function == .closeAllSessions
        guard endsAll || !call.function.takesSlot, let session = call.numbers.first else { return nil }
        return unsafe withMemory { memory in
            guard unsafe memory.pointee.initialisation == initialisation,
                unsafe endsAll || memory.pointee.session == session
            else {
                return nil
            }
            let begun = unsafe memory.pointee.is_held != 0 ? memory.pointee.call : nil
            unsafe memory.pointee.is_held = 0
            if call.goesOnInParts { unsafe memory.pointee.mechanism_count = 0 }
            return begun
        }
    }

    /// Drops the state of a parent process, and a lock that one of its threads held at `fork`.
    static func forget() {
        tokenkit_store(word, free)
        unsafe withMemory { memory in unsafe memory.pointee = tokenkit_signature() }
    }

    /// Runs `body` under a spin lock, which is held for less time than a system call takes.
    private static func withMemory<Result>(_ body: (UnsafeMutablePointer<tokenkit_signature>) -> Result) -> Result {
        while tokenkit_replace(word, free, busy) == 0 { usleep(1) }
        defer { tokenkit_store(word, free) }
        return unsafe body(tokenkit_begun_signature().unsafelyUnwrapped)
    }

    private static var word: Int32 { Int32(tokenkit_word_signature) }
    private static let free: UInt64 = 0
    private static let busy: UInt64 = 1
}

extension tokenkit_signature {
    /// Whether a call is held that its session may still need: not one of an earlier initialisation, or of a former host.
    fileprivate func isHeld(_ initialisation: UInt64) -> Bool {
        is_held != 0 && self.initialisation == initialisation && Host.number == host
    }

    fileprivate func isOf(_ call: PKCS11Call, _ other: [UInt8], _ initialisation: UInt64) -> Bool {
        guard self.initialisation == initialisation, changes == AttributeMemory.changes, Host.number == host,
            call.numbers.count == 2, call.numbers[0] == session, call.numbers[1] == key, !other.isEmpty
        else { return false }
        return encodedMechanism == other
    }

    /// The call of `C_SignInit`.
    fileprivate var call: PKCS11Call? {
        var reader = FieldReader(encodedMechanism)
        do throws(WireError) {
            return PKCS11Call(.signInit, [session, key], try PKCS11Mechanism(from: &reader))
        } catch {
            return nil
        }
    }

    private var encodedMechanism: [UInt8] {
        unsafe withUnsafeBytes(of: mechanism) { bytes in
            unsafe Array(bytes.prefix(Int(mechanism_count)))
        }
    }
}

extension PKCS11Call {
    /// Whether the call continues a signature in parts, during which `C_SignInit` fails with `CKR_OPERATION_ACTIVE`.
    fileprivate var goesOnInParts: Bool {
        switch function {
        case .signUpdate, .signFinal, .sessionCancel: true
        default: isBeforeData
        }
    }
}

extension PKCS11Mechanism {
    fileprivate var encoded: [UInt8] {
        var writer = FieldWriter()
        write(to: &writer)
        return writer.bytes
    }
}
