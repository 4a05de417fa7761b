internal import CCryptoki
internal import CPKCS11Module

/// The last beginning of a signature that the host has accepted. Programs that sign many times begin with the same key and mechanism each
/// time: the next such beginning is held back, and goes to the host with the data, in one message in place of two.
///
/// What has become of the key meanwhile, as that its card is out, `C_Sign` tells then. The host says which keys may be treated so: not
/// those that want a login between the two calls.
enum BegunSignature {
    /// Holds back a call of `C_SignInit`.
    ///
    /// - Returns: false where it has to be made.
    static func hold(_ call: PKCS11Call, _ initialisation: UInt64) -> Bool {
        guard let mechanism = call.mechanism?.encoded else { return false }
        return unsafe withMemory { memory in
            // Another session's has to be sent first.
            guard unsafe memory.pointee.is_held == 0 || memory.pointee.session == call.numbers.first else {
                return false
            }
            let isKnown = unsafe memory.pointee.isOf(call, mechanism, initialisation)
            unsafe memory.pointee.is_held = isKnown ? 1 : 0
            if !isKnown { unsafe memory.pointee.mechanism_count = 0 }
            return isKnown
        }
    }

    /// Keeps a beginning that the host has accepted, where it says that this may be done.
    ///
    /// - Parameter changes: how many calls may have changed something before the host was asked.
    static func keep(
        _ call: PKCS11Call, _ answer: PKCS11Answer, of host: UInt64, _ initialisation: UInt64, _ changes: UInt64
    ) {
        guard answer.numbers == [1], call.numbers.count == 2,
            let mechanism = call.mechanism?.encoded, mechanism.count <= tokenkit_mechanism_limit
        else { return }
        unsafe withMemory { memory in
            // Another thread's is held back.
            guard unsafe memory.pointee.is_held == 0 else { return }
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

    /// Takes the beginning that was held back for a session, before another call of that session is made.
    static func take(before call: PKCS11Call, _ initialisation: UInt64) -> PKCS11Call? {
        guard !call.function.takesSlot, let session = call.numbers.first else { return nil }
        return unsafe withMemory { memory in
            guard unsafe memory.pointee.initialisation == initialisation, unsafe memory.pointee.session == session
            else {
                return nil
            }
            let begun = unsafe memory.pointee.is_held != 0 ? memory.pointee.call : nil
            unsafe memory.pointee.is_held = 0
            if call.goesOnInParts { unsafe memory.pointee.mechanism_count = 0 }
            return begun
        }
    }

    /// Drops what a parent process has kept, whichever of its threads was at it.
    static func forget() {
        tokenkit_store(word, free)
        unsafe withMemory { memory in unsafe memory.pointee = tokenkit_signature() }
    }

    /// Lets no other thread at the memory meanwhile, which is for less than a system call takes.
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
    fileprivate func isOf(_ call: PKCS11Call, _ other: [UInt8], _ initialisation: UInt64) -> Bool {
        guard self.initialisation == initialisation, changes == AttributeMemory.changes, Host.isServing(host),
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
    /// Whether the call goes on with a signature in a way on which it depends whether another may be begun.
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
